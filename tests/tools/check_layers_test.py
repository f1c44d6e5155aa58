"""Tests of tools/check_layers.py: each rule on a few lines, one that passes and one that fails."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
import check_layers  # noqa: E402  (the path is set above)


def errors(path, text):
    """'line: message' of every error."""
    return [f'{line}: {message}' for line, message in check_layers.check_file(path, text)]


class ProjectHeaders(unittest.TestCase):
    def test_upwards_is_an_error(self):
        self.assertEqual(
            errors('sim/core/a.cpp', '// a\n#include "sim/engine/engine.h"\n'),
            ['2: sim/core may not include "sim/engine/engine.h"; allowed: sim/core'])

    def test_downwards_is_fine(self):
        self.assertEqual(errors('sim/engine/a.cpp', '#include "sim/core/units.h"\n'), [])

    def test_longest_folder_counts(self):
        text = '#include "sim/engine/engine.h"\n'
        self.assertEqual(errors('models/transport/a.cpp', text), [])
        self.assertEqual(len(errors('models/nccl/a.cpp', text)), 1)
        self.assertEqual(errors('scenarios/a.cpp', text), [])
        self.assertEqual(len(errors('scenarios/spec/a.cpp', text)), 1)

    def test_folder_name_is_matched_whole(self):
        self.assertEqual(len(errors('models/training/a.h', '#include "sim/coreless/x.h"\n')), 1)

    def test_facts_and_spec(self):
        self.assertEqual(errors('models/facts/a.h', '#include "models/nccl/inventory.h"\n'), [])
        self.assertEqual(errors('scenarios/spec/a.h', '#include "models/facts/ip.h"\n'), [])
        self.assertEqual(len(errors('models/nccl/a.h', '#include "models/facts/ip.h"\n')), 1)

    def test_real_sees_schedules_but_no_engine(self):
        self.assertEqual(errors('real/a.cpp', '#include "models/collectives/schedule.h"\n'), [])
        self.assertEqual(len(errors('real/a.cpp', '#include "sim/engine/engine.h"\n')), 1)
        self.assertEqual(len(errors('real/a.cpp', '#include "scenarios/simulate.h"\n')), 1)

    def test_nothing_includes_tests_and_only_tests_include_tools(self):
        self.assertEqual(len(errors('tools/a.cpp', '#include "tests/helper.h"\n')), 1)
        self.assertEqual(len(errors('scenarios/a.cpp', '#include "tools/cli.h"\n')), 1)
        self.assertEqual(errors('tests/tools/a.cpp', '#include "tools/cli.h"\n'), [])

    def test_relative_include_is_an_error(self):
        self.assertEqual(len(errors('sim/core/a.cpp', '#include "units.h"\n')), 1)

    def test_project_header_in_angles_is_an_error(self):
        self.assertEqual(
            errors('sim/core/a.cpp', '#include <sim/engine/engine.h>\n'),
            ['1: write "sim/engine/engine.h" with quotes: it is a header of this project'])

    def test_unknown_folder_is_an_error(self):
        self.assertEqual(
            errors('models/new/a.cpp', ''),
            ["1: no layer is known for 'models/new/a.cpp'; "
             'add its folder to tools/check_layers.py'])

    def test_blanks_in_the_directive_do_not_hide_it(self):
        self.assertEqual(len(errors('sim/core/a.cpp', '  #  include   "tools/cli.h"\n')), 1)


class Libraries(unittest.TestCase):
    OWNED = [
        ('simgrid/s4u.hpp', 'sim/engine/a.cpp', 'scenarios/a.cpp'),
        ('boost/graph/adjacency_list.hpp', 'topologies/a.cpp', 'sim/engine/a.cpp'),
        ('yaml-cpp/yaml.h', 'sim/core/yaml.cpp', 'sim/core/yaml.h'),
        ('pugixml.hpp', 'models/nccl/xml.cpp', 'topologies/xml.cpp'),
        ('infiniband/verbs.h', 'real/verbs.cpp', 'models/nccl/a.cpp'),
        ('cuda_runtime.h', 'real/buffer.cpp', 'tools/main.cpp'),
        ('hwloc.h', 'real/host.cpp', 'topologies/host.cpp'),
        ('CLI/CLI.hpp', 'tools/cli.cpp', 'tools/main.cpp'),
        ('nlohmann/json.hpp', 'tools/json/json.cpp', 'tools/json/json.h'),
        ('fmt/format.h', 'sim/core/a.cpp', None),
        ('gtest/gtest.h', 'tests/sim/core/a_test.cpp', 'sim/core/a.cpp'),
        ('benchmark/benchmark.h', 'tests/bench/a.cpp', 'sim/engine/a.cpp'),
    ]

    def test_each_library_has_its_owner(self):
        for header, owner, other in self.OWNED:
            with self.subTest(header=header):
                self.assertEqual(errors(owner, f'#include <{header}>\n'), [])
                if other is not None:
                    self.assertEqual(len(errors(other, f'#include <{header}>\n')), 1)

    def test_message_names_the_owner(self):
        self.assertEqual(errors('real/a.cpp', '// x\n\n#include <simgrid/s4u.hpp>\n'),
                         ['3: real/a.cpp may not include <simgrid/s4u.hpp>; only sim/engine may'])

    def test_tests_may_include_any_library(self):
        self.assertEqual(errors('tests/sim/engine/a.cpp', '#include <simgrid/s4u.hpp>\n'), [])

    def test_standard_and_system_headers_are_free(self):
        self.assertEqual(errors('sim/core/a.cpp', '#include <vector>\n#include <unistd.h>\n'), [])


if __name__ == '__main__':
    unittest.main()
