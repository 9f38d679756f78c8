"""`laconic.envs.make`, `envs.names` and `envs.benchmark`."""

from __future__ import annotations

import json

import pytest

from laconic import envs
from laconic.envs import _stamp
from laconic.envs.errors import SettingError, UnknownNameError


@pytest.fixture(params=envs.names())
def name(request):
    """Return each environment."""
    return request.param


def test_names_are_sorted_and_each_is_a_benchmark_or_a_world():
    assert list(envs.names()) == sorted(envs.names())
    assert {*envs.names("benchmarks")}.isdisjoint(envs.names("worlds"))
    assert {*envs.names()} == {*envs.names("benchmarks"), *envs.names("worlds")}
    with pytest.raises(UnknownNameError, match="kind of environment 'world'"):
        envs.names("world")


def test_an_environment_is_of_its_kind(name):
    made = envs.make(name, free=True, tasks=1)
    if name in envs.names("worlds"):
        assert isinstance(made, envs.WorldEnv)
    else:
        assert isinstance(made, envs.DialogueEnv) and envs.benchmark(name).name == name
        assert isinstance(envs.benchmark(name), envs.Benchmark)


def test_an_environment_is_made_by_its_name_alone(name):
    env = envs.make(name, free=True, tasks=5)
    observations, infos = env.reset(seed=0)
    assert set(observations) == set(infos) == set(env.possible_agents)
    assert len(env.tasks) == 5


def test_equal_settings_give_equal_tasks_and_parts_share_none(name):
    train = envs.make(name, free=True, tasks=50, generator={"seed": 1}).tasks
    assert train == envs.make(name, free=True, tasks=50, generator={"seed": 1}).tasks
    evaluation = envs.make(
        name, free=True, tasks=50, split="evaluation", generator={"seed": 1}
    ).tasks
    texts = [{task.text for task in tasks.values()} for tasks in (train, evaluation)]
    assert not texts[0] & texts[1]


def test_an_unknown_environment_names_the_nearest():
    for ask in (envs.make, envs.benchmark):
        with pytest.raises(UnknownNameError, match="environment 'gsm8'. Did you mean 'gsm8k'"):
            ask("gsm8")


UNKNOWN = {
    "setting of an environment 'topologi'. Did you mean 'topology'": {"topologi": 3},
    "setting of an environment 'sorce'. Did you mean 'source'": {"sorce": "x"},
    "split 'eval'. Did you mean 'evaluation'": {"split": "eval"},
    r"env\.budget 'mesage'. Did you mean 'message'": {"budget": {"mesage": 3}},
    r"env\.reward 'prize'. Did you mean 'price'": {"reward": {"prize": 3}},
    "topology 'rings'. Did you mean 'ring'": {"topology": "rings"},
}
"""Part of a message -> the settings that it answers."""


def test_an_unknown_setting_names_the_nearest(name):
    for words, settings in UNKNOWN.items():
        with pytest.raises(UnknownNameError, match=words):
            envs.make(name, free=True, **{"tasks": 2, **settings})


def test_a_setting_of_another_kind_of_environment_is_unknown():
    with pytest.raises(UnknownNameError, match="setting of an environment 'rouds'. .*'rounds'"):
        envs.make("gsm8k", free=True, tasks=2, rouds=3)
    with pytest.raises(UnknownNameError, match=r"'price'. Write reward={'price': 3}\. Known"):
        envs.make("gsm8k", price=3)
    with pytest.raises(UnknownNameError, match="'splt'. Did you mean 'split'"):
        envs.make("gsm8k", free=True, tasks=2, information="splt")
    with pytest.raises(UnknownNameError, match="setting of an environment 'information'"):
        envs.make("commons", free=True, tasks=2, information="split")
    with pytest.raises(UnknownNameError, match="setting of an environment 'wording'"):
        envs.make("gsm8k", free=True, tasks=2, wording="pasture")


def test_the_number_of_tasks_must_be_a_whole_number_of_at_least_one(name):
    for tasks in (0, -1, True, 2.0, "5"):
        with pytest.raises(SettingError, match=r"env\.tasks must be null or a whole number"):
            envs.make(name, free=True, tasks=tasks)


def test_a_cap_or_price_out_of_range_names_its_key(name):
    with pytest.raises(SettingError, match=r"env\.budget\.round must be .* got 0"):
        envs.make(name, free=True, tasks=2, budget={"round": 0})
    with pytest.raises(SettingError, match=r"env\.reward\.price must be .* got -1"):
        envs.make(name, free=True, tasks=2, reward={"price": -1, "normalizer": 100})


@pytest.mark.parametrize("key", ["budget", "reward", "channel"])
def test_a_record_of_settings_that_is_none_names_its_key(name, key):
    for value in (3, 0.5, True, "message", [1], envs.Task("a", "?", (), "1")):
        with pytest.raises(SettingError, match=rf"^env\.{key} must be null or settings by name"):
            envs.make(name, free=True, tasks=2, **{key: value})


@pytest.mark.parametrize("key", ["reader", "generator"])
def test_settings_of_tasks_that_are_no_mapping_name_their_key(name, key):
    for value in (3, "level", [1], {1: 2}):
        with pytest.raises(SettingError, match=rf"^env\.{key} must be null or a mapping"):
            envs.make(name, free=True, tasks=2, **{key: value})


@pytest.mark.parametrize("level", [{"easy": 1}, {1, 2}, [[1], [2]], [1, 2, 3], "1", None])
def test_a_level_of_another_form_is_refused_by_its_generator(level):
    with pytest.raises(SettingError, match=r"^env\.generator\.level must be a whole number from 1"):
        envs.make("gsm8k", free=True, tasks=2, generator={"level": level})


def test_lists_and_pairs_of_levels_are_one_setting():
    makers = [
        envs.make("gsm8k", free=True, tasks=9, generator={"level": level})
        for level in ([1, 2], (1, 2))
    ]
    assert makers[0].tasks == makers[1].tasks


def test_a_source_that_is_none_names_its_key(name):
    for source in (None, 3, ["a.jsonl"], True):
        with pytest.raises(SettingError, match=r"^env\.source must be 'generated', a file, a"):
            envs.make(name, free=True, source=source)


def test_settings_of_sources_are_refused_where_tasks_are_generated(name):
    with pytest.raises(SettingError, match=r"^env\.holdout=0\.2 divides the rows of a source"):
        envs.make(name, free=True, tasks=2, holdout=0.2)
    with pytest.raises(SettingError, match=r"^env\.reader\.facts=True says how the rows of a"):
        envs.make(name, free=True, tasks=2, reader={"facts": True})
    with pytest.raises(SettingError, match=r"^env\.reader\.a=1, env\.reader\.b=False says"):
        envs.make(name, free=True, tasks=2, reader={"b": False, "a": 1})
    # A value of None says nothing, as in conf/env/strategyqa.yaml.
    assert (
        len(envs.make(name, free=True, tasks=2, reader={"facts": None}, holdout_seed=3).tasks) == 2
    )


@pytest.mark.parametrize("depth", ["algebra", "algebra/deep"])
def test_a_source_is_read_again_when_a_file_at_any_depth_has_changed(tmp_path, depth):
    file = tmp_path / depth / "1.json"
    file.parent.mkdir(parents=True)
    stamps = [_stamp(tmp_path)]
    for change in (
        lambda: file.write_text("{}"),
        lambda: file.write_text("[1, 2]"),
        lambda: (file.parent / "2.json").write_text("{}"),
        file.unlink,
    ):
        change()
        stamps.append(_stamp(tmp_path))
    assert stamps[0] == frozenset()
    assert len(set(stamps)) == len(stamps) == 5
    assert _stamp(tmp_path) == stamps[-1]


def test_a_changed_file_in_a_folder_of_a_source_gives_the_new_tasks(tmp_path):
    def problem(text):
        row = {"problem": text, "level": "Level 1", "type": "Algebra", "solution": r"\boxed{1}"}
        (tmp_path / "test" / "algebra").mkdir(parents=True, exist_ok=True)
        (tmp_path / "test" / "algebra" / "1.json").write_text(json.dumps(row))
        env = envs.make("math", free=True, source=tmp_path, split="evaluation")
        return [task.question for task in env.tasks.values()]

    assert problem("What is one?") == ["What is one?"]
    assert problem("What is the number after zero?") == ["What is the number after zero?"]


def test_a_linked_folder_is_part_of_a_source_and_a_circle_of_links_ends(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "circle").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "gone").symlink_to(tmp_path / "nowhere")
    assert _stamp(tmp_path / "data") == frozenset()
    (tmp_path / "elsewhere" / "test.jsonl").write_text("{}")
    (result,) = _stamp(tmp_path / "data")
    assert result[0].endswith("data/linked/test.jsonl") and result[2] == 2
    assert _stamp(tmp_path / "elsewhere" / "test.jsonl") != frozenset()
    assert _stamp(tmp_path / "nowhere") == frozenset()


def test_budget_and_reward_may_be_mappings_or_records(name):
    for budget, reward in (
        ({"message": 3}, {"price": 0.5}),
        (envs.Budget(message=3), envs.Reward(price=0.5)),
    ):
        env = envs.make(name, free=True, tasks=2, budget=budget, reward=reward)
        assert (env.budget, env.reward.price) == (envs.Budget(message=3), 0.5)
    assert env.reward == envs.Reward(price=0.5)
