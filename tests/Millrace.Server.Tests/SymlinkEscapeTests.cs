using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Symlinks are followed within the root, and to nowhere else: whatever they stand for, and whenever they appear.</summary>
public class SymlinkEscapeTests
{
    private const string Secret = "this must stay in the dark";
    private const string Public = "everybody may read this";

    [Fact]
    public async Task No_link_leads_out_of_the_root()
    {
        using var folder = new TempFolder();
        string secret = MakeTree(folder);
        string[] escapes = MakeEscapes(folder, secret);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.PathOf("site"), "--listen", "127.0.0.1:0");

        foreach (string target in escapes)
        {
            AssertHidden(server.Url, target);
        }

        Assert.Equal(Public, Text(Wire.Get(server.Url, "/sub/open.txt")));
        Assert.Equal(Public, Text(Wire.Get(server.Url, "/link.txt")));
        Assert.Equal(Public, Text(Wire.Get(server.Url, "/linked/open.txt")));
    }

    [Fact]
    public async Task A_link_for_something_else_than_a_page_leads_out_no_more()
    {
        using var folder = new TempFolder();
        string secret = MakeTree(folder);
        foreach (string name in (string[])["404.html", "index.html", "app.js.gz", "app.js.br", "app.js.zst"])
        {
            File.CreateSymbolicLink(folder.PathOf("site/" + name), secret);
        }

        File.WriteAllText(folder.PathOf("site/app.js"), Public);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.PathOf("site"), "--listen", "127.0.0.1:0");

        foreach (string target in (string[])["/", "/index.html", "/404.html", "/missing", "/missing.txt", "/app.js.gz", "/app.js.br"])
        {
            AssertHidden(server.Url, target);
        }

        WireResponse script = Wire.Get(server.Url, "/app.js", "Accept-Encoding: gzip, br, zstd");
        Assert.Equal(200, script.Status);
        Assert.DoesNotContain(Secret, Text(script), StringComparison.Ordinal);
        Assert.Equal(Public, Text(Wire.Get(server.Url, "/app.js")));
    }

    [Theory]
    [InlineData("_headers")]
    [InlineData("_redirects")]
    public async Task Rules_from_outside_the_root_are_no_rules(string name)
    {
        using var folder = new TempFolder();
        string rules = MakeTree(folder);
        File.WriteAllText(rules, name == "_headers" ? "/*\n  X-From-Outside: yes\n" : "/* /sub/open.txt 301\n");
        File.CreateSymbolicLink(folder.PathOf("site/" + name), rules);

        ToolResult refused = await Tool.RunAsync(Publication.Program, folder.PathOf("site"), "--listen", "127.0.0.1:0");

        Assert.Equal(2, refused.ExitCode);
        Assert.Contains(name, refused.Error, StringComparison.Ordinal);
    }

    /// <summary>The file is too large to be in memory and may be opened afresh: by the same rules.</summary>
    [Fact]
    public async Task A_file_or_folder_that_becomes_a_link_leads_out_no_more()
    {
        using var folder = new TempFolder();
        string secret = MakeTree(folder);
        string outside = Directory.CreateDirectory(folder.PathOf("outside")).FullName;
        Directory.CreateDirectory(folder.PathOf("site/dir"));
        foreach (string name in (string[])["site/dir/large.bin", "site/large.bin"])
        {
            File.WriteAllBytes(folder.PathOf(name), new byte[600_000]);
        }

        File.WriteAllText(Path.Combine(outside, "large.bin"), Secret.PadRight(600_000, '.'));
        await using ServerProcess server = await ServerProcess.StartAsync(
            folder.PathOf("site"), "--descriptors", "0", "--listen", "127.0.0.1:0");
        Assert.Equal(200, Wire.Get(server.Url, "/dir/large.bin").Status);

        File.CreateSymbolicLink(folder.PathOf("link"), secret);
        File.Move(folder.PathOf("link"), folder.PathOf("site/large.bin"), overwrite: true);
        Directory.Move(folder.PathOf("site/dir"), folder.PathOf("dir-before"));
        Directory.CreateSymbolicLink(folder.PathOf("site/dir"), outside);

        await AwaitGoneAsync(server.Url, "/large.bin");
        await AwaitGoneAsync(server.Url, "/dir/large.bin");
    }

    private static Task AwaitGoneAsync(Uri server, string target) => Wire.AwaitAsync(server, target, static response =>
    {
        Assert.DoesNotContain(Secret, Text(response), StringComparison.Ordinal);
        return response.Status == 404;
    });

    /// <summary>Returns where the secret is.</summary>
    private static string MakeTree(TempFolder folder)
    {
        Directory.CreateDirectory(folder.PathOf("site/sub"));
        File.WriteAllText(folder.PathOf("secret.txt"), Secret);
        File.WriteAllText(folder.PathOf("site/sub/open.txt"), Public);
        File.CreateSymbolicLink(folder.PathOf("site/link.txt"), "sub/open.txt");
        Directory.CreateSymbolicLink(folder.PathOf("site/linked"), "sub");
        return folder.PathOf("secret.txt");
    }

    /// <summary>Returns the paths of URLs that would lead to a secret.</summary>
    private static string[] MakeEscapes(TempFolder folder, string secret)
    {
        (string Name, string Target, string Below)[] links =
        [
            ("relative.txt", "../secret.txt", ""),
            ("absolute.txt", secret, ""),
            ("sub/up.txt", "../../secret.txt", ""),
            ("round.txt", "sub/../../secret.txt", ""),
            ("into-root.txt", Path.Combine(folder.Root, "site", "..", "secret.txt"), ""),
            ("chain.txt", "relative.txt", ""),
            ("chained-by-folder.txt", "linked/../../secret.txt", ""),
            ("parent", "..", "/secret.txt"),
            ("absolute-parent", folder.Root, "/secret.txt"),
            ("whole", "/", secret),
            ("process-root", "/proc/self/root", secret),
            ("process-folder", "/proc/self/cwd", "/secret.txt"),
            ("passwd", "/etc/passwd", ""),
            ("descriptor", "/proc/self/fd/0", ""),
            ("loop", "loop", ""),
            ("loop-a", "loop-b", ""),
            ("loop-b", "loop-a", ""),
            ("nowhere", "missing", ""),
        ];
        foreach ((string name, string target, _) in links)
        {
            File.CreateSymbolicLink(folder.PathOf("site/" + name), target);
        }

        return [.. links.Select(static link => $"/{link.Name}{link.Below}"), "/parent/", "/parent", "/whole/etc/passwd", "/process-root/etc/passwd"];
    }

    private static void AssertHidden(Uri server, string target)
    {
        foreach (string field in (string[])["Accept: */*", "Accept-Encoding: br, gzip, zstd", "Range: bytes=0-99", "Accept: text/html"])
        {
            WireResponse response = Wire.Get(server, target, field);
            Assert.DoesNotContain(Secret, Text(response), StringComparison.Ordinal);
            Assert.True(response.Status == 404, $"{target} with {field}: {response.Head}");
        }
    }

    private static string Text(WireResponse response) => Encoding.UTF8.GetString(response.Body);
}
