//! `/admin`: served under its policy whether the page was built or not. What it does is tested in a browser.

use jari_testkit::TestApp;

#[tokio::test]
async fn the_operators_page_loads_nothing_from_elsewhere_and_tells_nobody_anything() {
    let app = TestApp::start().await;
    app.create_room(|room| room.title.en = "A secret sale".to_owned()).await;
    for path in ["/admin", "/admin/"] {
        let page = app.visitor().get(path).await.expect(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        assert_eq!(page.header("set-cookie"), None);
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!page.text().contains("secret sale"), "the page itself holds no data");
        // Built, it loads its own files; else it says how it is built.
        let text = page.text();
        let files: Vec<_> =
            text.split('"').filter(|text| text.starts_with("/admin/assets/")).collect();
        assert_eq!(files.is_empty(), text.contains("cargo xtask web"), "{text}");
        for file in files {
            let asset = app.visitor().get(file).await.expect(200);
            let caching = asset.header("cache-control").unwrap_or_default();
            assert!(caching.contains("immutable"), "{file}: {caching}");
        }
    }
    app.visitor().get("/admin/assets/none.js").await.expect(404);
    app.stop().await;
}
