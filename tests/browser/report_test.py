#!/usr/bin/env python3
"""The page of `transformer-cli report` in a real Chromium: at a telephone's and a desk's width, light and dark, with
and without scripts, by keyboard, and on paper.

    report_test.py TRANSFORMER_CLI [--screenshots FOLDER]

Ends with 77, which CTest counts as skipped, where no Chromium is installed.
"""
import base64
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium

WIDTHS = {"phone": 390, "desk": 1280}
EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> \u202eabc"
STEPS = 2000

# What text is hard to read: [[text, colour, background, contrast]]. WCAG 2.2, success criterion 1.4.3 asks for 4.5.
FAINT_TEXT = """(() => {
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const over = (top, below) => {
    const a = top[3] ?? 1;
    return [0, 1, 2].map(i => a * top[i] + (1 - a) * below[i]);
  };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(numbers(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const luminance = colour => {
    const [r, g, b] = colour.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ['STYLE', 'SCRIPT', 'style', 'title'].includes(element.tagName)) continue;
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const style = getComputedStyle(element);
    const paper = behind(element);
    const ink = over(numbers(element instanceof SVGElement ? style.fill : style.color), paper);
    const [a, b] = [luminance(ink), luminance(paper)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push([node.data.trim().slice(0, 40), ink, paper, contrast]);
  }
  return found;
})()"""

# Elements that reach out of the page, but for those in frames that scroll.
WIDE = """(() => {
  const most = document.documentElement.clientWidth + 1;
  return [...document.querySelectorAll('body *')].filter(e =>
    !e.closest('.hidden, .skip') && !e.parentElement.closest('.scroll, pre') && e.checkVisibility() &&
    e.getBoundingClientRect().right > most && !(e.ownerSVGElement)).map(e => e.outerHTML.slice(0, 80));
})()"""

# Controls that one must be able to reach by the Tab key; of radio buttons, the chosen one of a group.
CONTROLS = """(() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter(e =>
    (e.type !== 'radio' || e.checked) && e.checkVisibility());
  all.forEach((e, i) => e.dataset.control = i);
  return all.map(e => e.outerHTML.slice(0, 90));
})()"""

FOCUS = """(() => {
  const e = document.activeElement;
  const seen = e.type === 'radio' ? e.nextElementSibling : e;
  const style = getComputedStyle(seen);
  return [e.dataset.control ?? '', style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0];
})()"""


def loss_at(step, factor):
    return 1 + 3 * math.exp(-step / 500) * factor


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


def write_run(folder, factor, evil=False, half=False):
    (folder / "samples").mkdir(parents=True)
    lines = []
    for step in range(10, STEPS + 1, 10):
        lines.append({"step": step, "epoch": step / 500, "loss": loss_at(step, factor), "learning_rate": 1e-3 / step,
                      "grad_norm": 0.5 + factor * abs(math.sin(step)), "skipped_steps": 0, "tokens": 1000 * step,
                      "flops": 1e9 * step, "tokens_per_second": 5e4 * factor, "seconds": step / 40 / factor})
        if step % 500 == 0:
            lines.append({"step": step, "valid_loss": loss_at(step, factor) + 0.1, "valid_exact_match": step / 4000,
                          "valid_bleu": step / 50, "is_best": True, "evaluation_seconds": 1})
        if evil and step == 1000:
            lines.append({**lines[-2], "step": 900})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text[:-40] if half else text, encoding="utf-8")
    config = {"model": {"type": "transformer", "d_model": int(64 * factor), "block": {"norm": "pre"}},
              "task": {"type": "translation", "train": {"tsv": ["data/a-file-with-quite-a-long-name.tsv"] * 3}},
              "training": {"learning_rate": 0.001, "note": EVIL if evil else ""}}
    session = {"command": f"transformer-cli train -c config.json -o {'runs/' + 'long-' * 20 if half else 'runs/a'}",
               "started": "2026-01-02T03:04:05Z", "transformer_zoo": "0.1.0", "libtorch": "2.13.0", "device": "cpu",
               "processor": EVIL if evil else "A processor", "threads": 2, "from_step": 0}
    receipt = {"status": "running" if half else "max_steps", "sessions": [session] * (2 if evil else 1), "seed": 1337,
               "parameters": 4508416, "data": {"train": {"pairs": 50000, "source_sha256": "0507ec2f" * 8}},
               "config": config}
    if not half:
        receipt["result"] = {"step": STEPS, "seconds": STEPS / 40, "metric": "valid_exact_match", "best_value": 0.5,
                             "best_step": STEPS, "checkpoint": "step-002000"}
    write_json(folder / "run.json", receipt)
    for step in (1000, 2000):
        text = f"source: ein Mann {step}\noutput: " + (EVIL if evil else "a man") + "\n" + "long" * 60
        (folder / f"samples/step-{step:06}.txt").write_bytes(text.encode() + (b"\xff\x00\x1b[31m" if evil else b""))


def write_attention(path):
    """Two layers of three heads; the weight of (row, column) in layer l and head h is known."""
    words = ["der", "kleine", "Hund", "schläft", EVIL]
    heads = []
    for layer in range(2):
        for head in range(3):
            rows = [[math.exp(-abs(i - j) * (head + 1) * (layer + 1) / 2) for j in range(5)] for i in range(4)]
            weights = [[value / sum(row) for value in row] for row in rows]
            heads.append({"layer": layer, "head": head, "weights": weights, "summary": {"entropy": 1.25}})
    write_json(path, {"input": "the little dog sleeps", "second": EVIL,
                      "maps": [{"attention": "cross", "causal": False, "queries": ["the", "little", "dog", "sleeps"],
                                "keys": words, "heads": heads}]})
    return heads


def write_measurements(folder):
    folder.mkdir()
    write_json(folder / "gradnorm.json", {
        "version": "0.1.0", "seed": 1337, "checks": [
            {"id": "G1", "claim": "r_k = 0.9^k exactly", "value": 6e-15, "bound": "<= 1e-12", "pass": True},
            {"id": "G4", "claim": "rate = sqrt(chi)", "value": 0.05, "bound": "<= 0.03", "pass": False}]})
    (folder / "foreign.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" onload="window.pwned = 3">'
        '<script>window.pwned = 4</script><rect width="100" height="50" fill="teal"/></svg>', encoding="utf-8")


class ReportPage(unittest.TestCase):
    cli, screenshots = "", None

    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temp.name)
        write_run(folder / "plain", 1)
        write_run(folder / "<b onclick='window.pwned = 5'>", 0.5, evil=True)
        write_run(folder / "unfinished-with-a-name-that-is-long-enough-to-need-two-lines-on-a-telephone", 0.75, half=True)
        write_measurements(folder / "measured")
        cls.heads = write_attention(folder / "maps.json")
        page = folder / "report.html"
        made = subprocess.run(
            [cls.cli, "report", *(path for path in sorted(folder.iterdir()) if path.is_dir()), "--attention",
             folder / "maps.json", "-o", page], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode != 0:
            raise RuntimeError(made.stdout)
        cls.url = page.as_uri()
        cls.browser = chromium.Chromium(chromium.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.temp.cleanup()

    def open(self, width="desk", **options):
        return self.browser.page(self.url, WIDTHS[width], **options)

    def kept(self, page, name):
        """Saves what the page looks like, where that is wanted."""
        if self.screenshots:
            path = pathlib.Path(self.screenshots) / f"{name}.png"
            path.write_bytes(base64.b64decode(page.screenshot()))

    def test_looks(self):
        for width in WIDTHS:
            for dark in (False, True):
                for scripts in (True, False):
                    name = f"{width}-{'dark' if dark else 'light'}{'' if scripts else '-no-scripts'}"
                    with self.subTest(name), self.open(width, dark=dark, scripts=scripts) as page:
                        self.assertEqual(page.problems, [])
                        self.assertEqual([one for one in page.requests if not one.startswith("data:")], [self.url])
                        self.kept(page, name)
                        page.run("document.querySelectorAll('details').forEach(e => e.open = true)")
                        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), WIDTHS[width])
                        self.assertEqual(page.run(WIDE), [])
                        self.assertEqual(page.run(FAINT_TEXT), [])
                        self.assertEqual(page.run("getComputedStyle(document.body).backgroundColor"),
                                         "rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
                        self.assertGreaterEqual(page.run("document.querySelectorAll('polyline').length"), 20)
                        self.kept(page, name + "-unfolded")

    def test_texts_are_data(self):
        with self.open() as page:
            page.run("document.querySelectorAll('details').forEach(e => e.open = true)")
            self.assertEqual(page.run("[typeof window.pwned, document.scripts.length]"), ["undefined", 1])
            self.assertIn("<script>window.pwned = 1</script>", page.run("document.body.innerText"))
            self.assertEqual(page.run("""[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])
                .filter(a => a.name.startsWith('on')).map(a => a.name)"""), [])
            self.assertEqual(page.run("[...document.images].every(e => e.complete && e.naturalWidth > 0)"), True)

    def test_says_what_is_broken(self):
        with self.open() as page:
            notes = page.run("document.querySelector('.notes').innerText")
        self.assertIn("its last line is half written", notes)
        self.assertIn("goes back to an earlier step 1 time", notes)
        self.assertIn("run.json says that it goes on", notes)

    def test_keyboard_reaches_every_control(self):
        for width in WIDTHS:
            with self.subTest(width), self.open(width) as page:
                controls = page.run(CONTROLS)
                self.assertGreater(len(controls), 40)
                reached, unseen = set(), []
                for _ in range(len(controls) + 5):
                    page.press("Tab")
                    control, visible = page.run(FOCUS)
                    if control:
                        reached.add(int(control))
                        if not visible:
                            unseen.append(controls[int(control)])
                self.assertEqual([one for i, one in enumerate(controls) if i not in reached], [])
                self.assertEqual(unseen, [])
                self.assertEqual(page.problems, [])

    def test_chart_tells_values(self):
        with self.open() as page:
            page.run("document.querySelector('.of-runs .linear svg').focus()")
            page.press("End")
            tip = page.run("document.querySelector('.of-runs .tip').innerText").split("\n")
            self.assertEqual(tip[0], "step 2000")
            self.assertIn("plain, training", tip)
            self.assertAlmostEqual(float(tip[tip.index("plain, training") + 1]), loss_at(2000, 1), delta=2e-3)
            page.press("Home")
            tip = page.run("document.querySelector('.of-runs .tip').innerText").split("\n")
            self.assertEqual(tip[0], "step 10")
            self.assertAlmostEqual(float(tip[tip.index("plain, training") + 1]), loss_at(10, 1), delta=2e-3)
            page.press("ArrowRight")
            self.assertEqual(page.run("document.querySelector('.of-runs .tip').innerText").split("\n")[0], "step 20")
            page.press("Escape")
            self.assertEqual(page.run("document.querySelector('.of-runs .tip').innerText"), "")
            # The gradient norm's chart begins with the logarithm.
            page.run("""document.querySelector('.of-runs figure:has(.scale:checked) .log svg').focus()""")
            page.press("End")
            tip = page.run("document.activeElement.closest('figure').innerText").split("\n")
            self.assertAlmostEqual(float(tip[tip.index("plain") + 1]), 0.5 + abs(math.sin(2000)), delta=5e-3)
            # By pointer, in the middle.
            x, y = page.run("""(() => {
                const svg = document.querySelector('.of-runs .linear svg');
                svg.scrollIntoView({block: 'center'});
                const box = svg.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            })()""")
            page.point_at(x, y)
            self.assertIn("plain, training", page.run("document.querySelector('.of-runs .tip').innerText"))

    def test_runs_and_scales_are_chosen(self):
        for scripts in (True, False):
            with self.subTest(scripts=scripts), self.open(scripts=scripts) as page:
                shown = "getComputedStyle(document.querySelector('.of-runs .p1')).display"
                self.assertEqual(page.run(shown), "inline")
                page.run("document.querySelector('#run-1').focus()")
                page.press(" ")
                self.assertEqual(page.run(shown), "none")
                first = "document.querySelector('figure:has(.scale:not(:checked))')"
                page.run(f"window.first = {first}; first.querySelector('.scale').focus()")
                visible = "[first.querySelector('.linear').checkVisibility(), first.querySelector('.log').checkVisibility()]"
                self.assertEqual(page.run(visible), [True, False])
                page.press(" ")
                self.assertEqual(page.run(visible), [False, True])

    def test_attention_is_chosen_and_read(self):
        title = """[...document.querySelectorAll('.attention p.view')].filter(e => e.checkVisibility())
                   .map(e => e.querySelector('strong').innerText)"""
        maps = """[...document.querySelectorAll('.attention use.view')].filter(e => e.checkVisibility())
                  .map(e => e.getAttribute('href'))"""
        for scripts in (True, False):
            with self.subTest(scripts=scripts), self.open(scripts=scripts) as page:
                self.assertEqual(page.run(title), ["layer 0, head 0"])
                page.run("document.querySelector('.attention input:checked').focus()")
                page.press("ArrowRight")
                self.assertEqual(page.run(title), ["layer 0, head 1"])
                page.press("ArrowDown")
                # Without scripts every arrow goes to the neighbour; with them down is the next layer.
                self.assertEqual(page.run(title), ["layer 1, head 1" if scripts else "layer 0, head 2"])
                self.assertEqual(page.run(maps), ["#attention-0-1-1" if scripts else "#attention-0-0-2"])
                self.assertEqual(page.problems, [])
        with self.open() as page:
            page.run("document.querySelector('.map svg').focus()")
            for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
                page.press(key)
            read = page.run("document.querySelector('.read').innerText")
            self.assertTrue(read.startswith("little → Hund: "), read)
            self.assertAlmostEqual(float(read.split(": ")[1]), self.heads[0]["weights"][1][2], delta=1e-3)
            x, y = page.run("""(() => {
                const svg = document.querySelector('.map svg'), cell = svg.querySelector('.cell');
                svg.scrollIntoView({block: 'center'});
                const box = cell.getBoundingClientRect();
                return [box.x + box.width * 1.5, box.y + box.height / 2];
            })()""")
            page.point_at(x, y)
            read = page.run("document.querySelector('.read').innerText")
            self.assertTrue(read.startswith("little → schläft: "), read)
            self.assertEqual(page.problems, [])

    def test_theme_is_chosen(self):
        with self.open() as page:
            colours = []
            for _ in range(3):
                page.run("[...document.querySelectorAll('button')].find(e => e.innerText.startsWith('Theme')).click()")
                colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
                self.assertEqual(page.run(FAINT_TEXT), [])
            self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(13, 17, 23)", "rgb(255, 255, 255)"])

    def test_prints(self):
        for scripts in (True, False):
            with self.subTest(scripts=scripts), self.open(scripts=scripts, dark=True) as page:
                pdf = base64.b64decode(page.pdf())
                self.assertTrue(pdf.startswith(b"%PDF"))
                if self.screenshots:
                    (pathlib.Path(self.screenshots) / "print.pdf").write_bytes(pdf)
        with self.open(media="print", dark=True, scripts=False) as page:
            self.assertEqual(page.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
            self.assertEqual(page.run(FAINT_TEXT), [])
            folded = "[...document.querySelectorAll('details > :not(summary)')].filter(e => !e.checkVisibility()).length"
            self.assertEqual(page.run(folded), 0, "what is folded is printed")


def main():
    if chromium.find() is None:
        print(f"skipped: no Chromium ({', '.join(chromium.NAMES)}) is installed; on Debian: apt-get install chromium")
        return 77
    arguments = sys.argv[1:]
    if "--screenshots" in arguments:
        place = arguments.index("--screenshots")
        ReportPage.screenshots = arguments[place + 1]
        os.makedirs(ReportPage.screenshots, exist_ok=True)
        del arguments[place:place + 2]
    ReportPage.cli = os.path.abspath(arguments.pop(0))
    unittest.main(argv=[sys.argv[0], *arguments])
    return 0


if __name__ == "__main__":
    sys.exit(main())
