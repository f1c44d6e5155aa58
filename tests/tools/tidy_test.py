"""Tests of tools/tidy.py: each rule on a few lines, one that passes and one that fails."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
import tidy  # noqa: E402  (the path is set above)


def errors(path, text):
    """'line: message' of every error; the sample gets the opening comment that it lacks."""
    return [f'{line}: {message}' for line, message in tidy.check(tidy.File(path, text))]


def rules(path, text):
    """(line, rule name) of every error."""
    return [(line, message.rsplit('[', 1)[1].rstrip(']'))
            for line, message in tidy.check(tidy.File(path, text))]


class BannedNames(unittest.TestCase):
    # rule, a line that breaks it, where it is banned, a line that is fine there
    SAMPLES = [
        ('random', 'std::mt19937 g;', 'sim/core/a.cpp', 'int operand(int x);'),
        ('random', 'std::random_device d;', 'tests/a_test.cpp', 'Random random(7);'),
        ('random', 'int x = rand();', 'tools/a.cpp', 'int x = grand();'),
        ('distribution', 'std::uniform_int_distribution<int> d;', 'tests/a_test.cpp',
         'int distribution;'),
        ('unordered', 'std::unordered_map<int, int> m;', 'topologies/a.cpp',
         'std::map<int, int> m;'),
        ('clock', 'auto t = std::chrono::steady_clock::now();', 'models/a.cpp', 'SimTime now;'),
        ('clock', 'seed = time(nullptr);', 'scenarios/a.cpp', 'seed = run_time(nullptr);'),
        ('header', '#include <ranges>', 'sim/core/a.cpp', '#include <vector>'),
        ('header', '#include <source_location>', 'tests/a_test.cpp', '#include <string>'),
        ('format', '#include <format>', 'tools/a.cpp', '#include <fmt/format.h>'),
        ('views', 'for (int i : std::views::iota(0, 3)) {}', 'tools/a.cpp',
         'std::ranges::sort(v);'),
        ('using-namespace', 'using namespace std;', 'tools/a.cpp', 'using std::string;'),
        ('endl', 'out << std::endl;', 'tools/a.cpp', "out << '\\n';"),
        ('print', 'std::cout << x;', 'scenarios/a.cpp', 'out << x;'),
        ('print', 'printf("x");', 'sim/core/a.cpp', 'snprintf(b, 3, "x");'),
        ('assert', 'assert(x > 0);', 'sim/core/a.cpp', 'static_assert(x > 0);'),
        ('number', 'int x = std::stoi(s);', 'tools/a.cpp', 'auto x = parse_integer(s);'),
        ('number', 'int x = atoi(s);', 'tools/a.cpp', 'int x = natoi;'),
        ('exit', 'exit(1);', 'tools/a.cpp', 'app.exit(1);'),
        ('exit', 'std::abort();', 'tools/a.cpp', 'on_exit(1);'),
        ('getenv', 'std::getenv("X");', 'models/nccl/a.cpp', 'environment.find("X");'),
        ('catch', 'try { f(); } catch (...) {}', 'scenarios/a.cpp', 'f();'),
    ]

    def test_each_ban(self):
        for rule, bad, path, good in self.SAMPLES:
            with self.subTest(line=bad):
                self.assertEqual(rules(path, f'// x\n{bad}\n'), [(2, rule)])
                self.assertEqual(rules(path, f'// x\n{good}\n'), [])

    def test_every_ban_has_a_sample(self):
        self.assertEqual({ban.rule for ban in tidy.BANS}, {sample[0] for sample in self.SAMPLES})

    def test_message_names_the_replacement(self):
        self.assertEqual(
            errors('sim/core/a.cpp', '// x\n// y\nstd::unordered_map<int, int> m;\n'),
            ["3: 'unordered_map' is banned here; use std::map, std::set or a sorted vector "
             '[unordered]'])

    def test_allowed_places(self):
        self.assertEqual(rules('tools/a.cpp', '// x\nstd::unordered_map<int, int> m;\n'), [])
        clock = '// x\nauto t = std::chrono::steady_clock::now();\n'
        self.assertEqual(rules('real/a.cpp', clock), [])
        self.assertEqual(rules('tools/main.cpp', '// x\ntry { f(); } catch (...) {}\n'), [])

    def test_comments_and_texts_are_not_code(self):
        text = '// rand() is banned\nconst char* x = "rand()";\n'
        self.assertEqual(rules('sim/core/a.cpp', text), [])
        self.assertEqual(rules('sim/core/a.cpp', '// x\n/* exit(1)\n rand() */ int y = rand();\n'),
                         [(3, 'random')])

    def test_digit_separators_do_not_start_a_text(self):
        self.assertEqual(rules('sim/core/a.cpp', "// x\nint a = 1'000; int b = rand() + 1'000;\n"),
                         [(2, 'random')])


class Sizes(unittest.TestCase):
    def test_line_length(self):
        self.assertEqual(errors('sim/core/a.cpp', '// ' + 'x' * 98 + '\n'),
                         ['1: line of 101 columns; at most 100 [line-length]'])
        self.assertEqual(errors('sim/core/a.cpp', '// ' + 'x' * 97 + '\n'), [])
        self.assertEqual(errors('sim/core/a.cpp', '// https://example.org/' + 'x' * 98 + '\n'), [])

    def test_header_length(self):
        head = '// x\n#pragma once\n'
        self.assertEqual(rules('sim/core/a.h', head + '\n' * 198), [])
        self.assertEqual(rules('sim/core/a.h', head + '\n' * 199), [(201, 'file-length')])

    def test_source_length(self):
        self.assertEqual(rules('sim/core/a.cpp', '// x\n' + '\n' * 499), [])
        self.assertEqual(rules('sim/core/a.cpp', '// x\n' + '\n' * 500), [(501, 'file-length')])

    def test_function_length(self):
        def sample(lines):
            return ('// x\nnamespace a {\nstruct S {\n  int b = 1;\n};\n'
                    'int f(int c,\n      int d) {\n' + '  ++c;\n' * (lines - 3) +
                    '}\n}  // namespace a\n')
        self.assertEqual(rules('sim/core/a.cpp', sample(70)), [])
        self.assertEqual(errors('sim/core/a.cpp', sample(71)),
                         ['6: function of 71 lines; at most 70 [function-length]'])

    def test_function_with_loops_lambdas_and_classes(self):
        text = ('// x\nclass C {\n public:\n  void m() {\n    for (int i = 0; i < 3; ++i) {\n'
                '      auto f = [] { g(); };\n'
                '    }\n  }\n};\nTEST(A, B) {\n  C c{1};\n}\n')
        found = tidy.functions(tidy.File('a.cpp', text))
        self.assertEqual([(first, last) for first, last, _ in found],
                         [(4, 8), (10, 12)])


class Headers(unittest.TestCase):
    def test_opening_comment(self):
        for path, good, bad in [('sim/core/a.cpp', '// what\n', 'int x;\n'),
                                ('tools/a.py', '#!/usr/bin/env python3\n"""What."""\n',
                                 'import os\n'),
                                ('tools/a', '#!/usr/bin/env bash\n# what\n',
                                 '#!/usr/bin/env bash\nset -u\n'),
                                ('topologies/catalog/a.yaml', '# what\n', 'a: 1\n')]:
            with self.subTest(path=path):
                self.assertEqual(rules(path, good), [])
                self.assertEqual(rules(path, bad), [(1, 'header-comment')])

    def test_pragma_once(self):
        self.assertEqual(rules('sim/core/a.h', '// x\nint y;\n'), [(1, 'pragma-once')])


class Texts(unittest.TestCase):
    def test_unfinished(self):
        text = '// x\n// TO' + 'DO: later\n'
        self.assertEqual(rules('sim/core/a.cpp', text), [(2, 'unfinished')])
        self.assertEqual(rules('docs/a.md', 'FIX' + 'ME\n'), [(1, 'unfinished')])
        self.assertEqual(rules('sim/core/a.cpp', '// mastodon\n'), [])

    def test_machine_paths(self):
        self.assertEqual(rules('docs/a.md', 'see /wo' + 'rk/main\n'), [(1, 'machine-path')])
        self.assertEqual(rules('tests/data/log.txt', 'see /ro' + 'ot/x\n'), [])
        self.assertEqual(rules('docs/a.md', 'net' + 'work/ and frame' + 'work/x\n'), [])

    def test_reference_material(self):
        text = '// shared/' + 'reference\n'
        self.assertEqual(rules('tests/a_test.cpp', text), [(1, 'reference-path')])

    def test_whitespace(self):
        self.assertEqual(rules('sim/core/a.cpp', '// x\n\tint y;\n'), [(2, 'tab')])
        self.assertEqual(rules('sim/core/a.cpp', '// x \n'), [(1, 'trailing-blank')])
        self.assertEqual(rules('sim/core/a.cpp', '// x'), [(1, 'final-newline')])


class Tree(unittest.TestCase):
    def test_dead_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'there.md').write_text('x\n', encoding='utf-8')
            text = '[a](there.md#part)\n[b](gone.md) [c](https://example.org/x)\n'
            self.assertEqual(list(tidy.dead_links(root, 'page.md', text)),
                             [(2, "link to 'gone.md', which does not exist [dead-link]")])

    def test_missing_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(list(tidy.missing_readmes(pathlib.Path(folder)))), 8)

    def test_only_files_of_the_project(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ('build/a.cpp', 'sim/a.cpp', '.git/config.txt', 'scratch/b.cpp'):
                (root / name).parent.mkdir(parents=True)
                (root / name).write_text('x', encoding='utf-8')
            (root / 'CMakeLists.txt').write_text('x', encoding='utf-8')
            self.assertEqual(list(tidy.project_files(root)), ['CMakeLists.txt', 'sim/a.cpp'])


if __name__ == '__main__':
    unittest.main()
