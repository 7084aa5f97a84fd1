#pragma once
// Pictures from files within a page. No torch.

#include <string>
#include <string_view>

namespace zoo {

/// An SVG file as HTML. One of ours (analysis/plot.h) becomes a part of the page, so that it has
/// the page's colours and read-outs; what holds anything that ours do not, such as scripts and
/// links, is shown as an image, in which a browser runs and loads nothing.
/// @param alt for those who cannot see it
std::string svg_html(std::string_view svg, const std::string& alt);

/// A picture of analysis/plot.h without its `<style>` element, which a page needs once only.
std::string without_style(std::string svg);

}  // namespace zoo
