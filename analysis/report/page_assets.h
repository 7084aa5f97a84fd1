#pragma once
// The report's style and script, page.css and page.js, as text in the library (page_assets.cpp.in).

#include <string_view>

namespace zoo {

extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace zoo
