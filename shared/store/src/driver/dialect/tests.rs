use super::{Pieces, for_sqlite, statements};

#[track_caller]
fn becomes(sql: &str, expected: &str) {
    assert_eq!(for_sqlite(sql), expected);
}

#[test]
fn parameters_are_numbered_for_sqlite() {
    becomes("select $2, $1, $12", "select ?2, ?1, ?12");
    becomes("select a.b=$1and c", "select a.b=?1and c");
}

#[test]
fn what_looks_like_a_parameter_in_a_literal_or_comment_stays() {
    for sql in [
        "select '$1', 'it''s $2'",
        r#"select "$1""#,
        "select 1 -- $1 for update\n",
        "select /* $1 /* for update */ $2 */ 1",
        "select $tag$ $1 for update $tag$",
        "select $$ $1 ; $$",
        "select '$1",
        "select price$1 from t",
    ] {
        becomes(sql, sql);
    }
}

#[test]
fn row_locks_are_left_out_for_sqlite() {
    becomes("select 1 for update", "select 1 ");
    becomes("select 1 FOR  UPDATE\n skip /* why */ locked limit 1", "select 1  limit 1");
    becomes("select 1 for no key update nowait", "select 1 ");
    becomes("select 1 for share", "select 1 ");
    becomes("select (select 1 for update) + $1", "select (select 1 ) + ?1");
}

#[test]
fn other_uses_of_the_words_stay() {
    for sql in [
        "select 'for update'",
        "select substring(a for b) from t",
        "insert into t values (1) on conflict (a) do update set a = 1",
        "select for_update from t",
        "select concurrently from t",
    ] {
        becomes(sql, sql);
    }
}

#[test]
fn indexes_are_not_built_concurrently_on_sqlite() {
    becomes(
        "create unique index CONCURRENTLY if not exists a on t (b)",
        "create unique index  if not exists a on t (b)",
    );
    becomes("drop index concurrently a", "drop index  a");
}

#[test]
fn a_text_is_split_at_the_semicolons_that_end_statements() {
    let text = "-- first; really\ncreate table a (b text default ';');\n\n\
                insert into a values ($$;$$), ('it''s;'), ($t$ $$;$$ $t$);\n\
                /* ; /* ; */ ; */ ;\n;\
                select \"x;y\", $1 -- no semicolon at the end";
    assert_eq!(
        statements(text),
        [
            "-- first; really\ncreate table a (b text default ';')",
            "insert into a values ($$;$$), ('it''s;'), ($t$ $$;$$ $t$)",
            "select \"x;y\", $1 -- no semicolon at the end",
        ]
    );
}

#[test]
fn a_text_of_comments_has_no_statements() {
    assert_eq!(statements(" -- nothing;\n /* here; */ ; "), [""; 0]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_cut_without_loss(text in r#"([a-z$;'"/*\-\n 0-9é]|--|/\*|\*/|\$\$|for|update){0,40}"#) {
        let mut together = String::new();
        for piece in Pieces(&text) {
            match piece {
                super::Piece::Param(number) => { together.push('$'); together.push_str(number); }
                super::Piece::Semicolon => together.push(';'),
                super::Piece::Blank(text) | super::Piece::Word(text) | super::Piece::Other(text) => {
                    together.push_str(text);
                }
            }
        }
        proptest::prop_assert_eq!(together, text);
    }
}
