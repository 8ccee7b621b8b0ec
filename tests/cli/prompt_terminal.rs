//! The output of `prompt` on a terminal.

use crate::support::{Place, Terminal};

fn shown(place: &Place, prompt: &str) -> String {
    let terminal = Terminal::start(place, &["prompt", "mock", prompt]);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn markdown_becomes_styles_on_a_terminal() {
    let place = Place::new();
    let screen = shown(&place, "markdown");
    assert!(screen.contains("\x1b[1mA heading\x1b[0m\n"), "{screen:?}");
    assert!(screen.contains("• one\n"), "{screen:?}");
    assert!(!screen.contains("```") && !screen.contains("**"), "{screen:?}");
    assert!(screen.contains("    \x1b[36mfn main() {\x1b[0m\n"), "{screen:?}");
}

#[test]
fn no_color_disables_colours_and_keeps_the_text_unchanged() {
    let place = Place::new().with("NO_COLOR", "1");
    let screen = shown(&place, "markdown");
    assert!(!screen.contains('\x1b'), "{screen:?}");
    assert!(screen.contains("# A heading\n") && screen.contains("**weight**"), "{screen:?}");
    let dumb = Place::new().with("TERM", "dumb");
    assert!(!shown(&dumb, "tool").contains('\x1b'));
}

#[test]
fn thoughts_are_dim_and_lines_do_not_run_into_each_other() {
    let place = Place::new();
    let screen = shown(&place, "think");
    assert!(screen.contains("\x1b[2mthinking: \x1b[0m"), "{screen:?}");
    assert!(screen.contains("\nI have thought about it.\n"), "{screen:?}");
    assert!(screen.contains("\x1b[2mstop reason: end_turn\x1b[0m\n"), "{screen:?}");
}

#[test]
fn agent_output_cannot_control_the_terminal() {
    let place = Place::new();
    let screen = shown(&place, "echo before\x1b[2J\x07after");
    assert!(screen.contains("before[2Jafter"), "{screen:?}");
}
