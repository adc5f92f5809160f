using System.Diagnostics;
using System.IO.Compression;
using System.Text;
using Millrace.Interop.Zstd;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>Coded files that are written beside those they are made of.</summary>
public class PrecompressTests
{
    private static readonly string Script = string.Concat(Enumerable.Range(0, 2_000).Select(static i => $"console.log('line {i}');\n"));

    [Fact]
    public async Task What_was_written_decodes_to_its_original_and_is_served()
    {
        using TempFolder folder = Site();
        ToolResult result = await RunAsync(folder.Root);
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.StartsWith("3 written", result.Output, StringComparison.Ordinal);
        Assert.Equal(Script, Decode(new BrotliStream(File.OpenRead(folder.PathOf("js/app.js.br")), CompressionMode.Decompress)));
        Assert.Equal(Script, Decode(new GZipStream(File.OpenRead(folder.PathOf("js/app.js.gz")), CompressionMode.Decompress)));
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        Assert.Equal(Script, Decode(new ZstdReadStream(library, File.OpenRead(folder.PathOf("js/app.js.zst")))));
        Assert.Equal(["app.js", "app.js.br", "app.js.gz", "app.js.zst"], Names(folder.PathOf("js")));

        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0", "--compress", "off");
        foreach ((string coding, string extension) in ((string, string)[])[("br", ".br"), ("gzip", ".gz"), ("zstd", ".zst")])
        {
            // Until it is decoded once, the uncoded file is sent.
            WireResponse response = Wire.Get(server.Url, "/js/app.js", $"Accept-Encoding: {coding}");
            for (var watch = Stopwatch.StartNew(); response.Field("Content-Encoding") is null; await Task.Delay(5))
            {
                Assert.True(watch.Elapsed < TimeSpan.FromSeconds(60), "It is not decoded.");
                response = Wire.Get(server.Url, "/js/app.js", $"Accept-Encoding: {coding}");
            }

            Assert.Equal(coding, response.Field("Content-Encoding"));
            Assert.Equal(File.ReadAllBytes(folder.PathOf("js/app.js" + extension)), response.Body);
        }
    }

    [Fact]
    public async Task What_is_current_stays_and_what_is_older_is_made_again()
    {
        using TempFolder folder = Site();
        Assert.Equal(0, (await RunAsync(folder.Root)).ExitCode);
        byte[] coded = File.ReadAllBytes(folder.PathOf("js/app.js.br"));
        DateTime time = File.GetLastWriteTimeUtc(folder.PathOf("js/app.js"));
        Assert.Equal(time, File.GetLastWriteTimeUtc(folder.PathOf("js/app.js.br")));
        Assert.StartsWith("0 written, 3 up to date", (await RunAsync(folder.Root)).Output, StringComparison.Ordinal);

        File.WriteAllText(folder.PathOf("js/app.js"), Script + "done();\n");
        File.SetLastWriteTimeUtc(folder.PathOf("js/app.js"), time.AddSeconds(1));
        Assert.StartsWith("3 written", (await RunAsync(folder.Root)).Output, StringComparison.Ordinal);
        Assert.NotEqual(coded, File.ReadAllBytes(folder.PathOf("js/app.js.br")));
        Assert.Equal(time.AddSeconds(1), File.GetLastWriteTimeUtc(folder.PathOf("js/app.js.gz")));
    }

    [Fact]
    public async Task What_does_not_get_smaller_is_left_out_and_so_are_other_types_and_hidden_files()
    {
        using var folder = new TempFolder();
        folder.Add("noise.js", 10_000);
        File.WriteAllText(folder.PathOf("picture.png"), Script);
        File.WriteAllText(folder.PathOf("small.js"), "f();");
        File.WriteAllText(folder.PathOf(".hidden.js"), Script);
        ToolResult result = await RunAsync(folder.Root);
        Assert.Equal("0 written, 0 up to date, 3 not smaller, 0 failed; 2 files of other types or sizes\n", result.Output);
        Assert.Equal(4, Names(folder.Root).Length);
    }

    [Fact]
    public async Task Only_when_asked_to_it_removes_what_has_no_original_and_no_downloads()
    {
        using TempFolder folder = Site();
        Assert.Equal(0, (await RunAsync(folder.Root)).ExitCode);
        File.Delete(folder.PathOf("js/app.js"));
        File.WriteAllText(folder.PathOf("data.csv.gz"), "a download");
        File.WriteAllText(folder.PathOf("data.csv.zst"), "another");
        Assert.Equal(0, (await RunAsync(folder.Root)).ExitCode);
        Assert.Equal(["app.js.br", "app.js.gz", "app.js.zst"], Names(folder.PathOf("js")));

        ToolResult result = await RunAsync(folder.Root, "--prune");
        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Contains($"Removed {folder.PathOf("js/app.js.gz")}\n", result.Output, StringComparison.Ordinal);
        Assert.Contains($"Removed {folder.PathOf("js/app.js.zst")}\n", result.Output, StringComparison.Ordinal);
        Assert.Empty(Names(folder.PathOf("js")));
        Assert.True(File.Exists(folder.PathOf("data.csv.gz")));
        Assert.True(File.Exists(folder.PathOf("data.csv.zst")));
    }

    [Fact]
    public async Task What_cannot_be_written_is_reported_and_the_others_are_written()
    {
        using TempFolder folder = Site();
        File.WriteAllText(folder.PathOf("page.html"), Script);
        Directory.CreateDirectory(folder.PathOf("page.html.br/in-the-way"));
        ToolResult result = await RunAsync(folder.Root);
        Assert.Equal(1, result.ExitCode);
        Assert.StartsWith($"millrace: '{folder.PathOf("page.html")}' was not compressed: ", result.Error, StringComparison.Ordinal);
        Assert.True(File.Exists(folder.PathOf("js/app.js.br")));
        Assert.DoesNotContain(Names(folder.Root), static name => name.StartsWith('.'));
    }

    [Fact]
    public async Task Each_file_that_cannot_be_removed_is_reported()
    {
        Tool.Require("setpriv");
        Nobody.RequireRoot();
        using TempFolder folder = Site();
        Assert.Equal(0, (await RunAsync(folder.Root)).ExitCode);
        File.Delete(folder.PathOf("js/app.js"));
        await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(10), "chmod", "-R", "a+rX", folder.Root);

        ToolResult result = await Tool.RunAsync(
            "setpriv", "--reuid", "65534", "--clear-groups", Publication.Program, "precompress", folder.Root, "--prune");

        Assert.Equal(1, result.ExitCode);
        Assert.Contains($"millrace: '{folder.PathOf("js/app.js.br")}' cannot be removed: ", result.Error, StringComparison.Ordinal);
        Assert.Contains($"millrace: '{folder.PathOf("js/app.js.gz")}' cannot be removed: ", result.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_folder_that_is_not_there_is_an_error()
    {
        using var folder = new TempFolder();
        ToolResult result = await RunAsync(folder.PathOf("no"));
        result.AssertRefused(2, "is not a folder");
    }

    [Fact]
    public async Task A_check_names_the_files_that_would_not_be_sent()
    {
        using TempFolder folder = Site();
        Assert.Equal(0, (await RunAsync(folder.Root)).ExitCode);
        using (FileStream file = File.OpenWrite(folder.PathOf("js/app.js.br")))
        {
            file.SetLength(file.Length - 1);
        }

        ToolResult result = await Tool.RunAsync(Publication.Program, ["check", folder.Root]);

        Assert.Equal(2, result.ExitCode);
        Assert.Contains($"/js/app.js.br of {folder.Root} is cut, so it is not sent for /js/app.js.", result.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("app.js.gz", result.Error, StringComparison.Ordinal);
    }

    private static TempFolder Site()
    {
        var folder = new TempFolder();
        Directory.CreateDirectory(folder.PathOf("js"));
        File.WriteAllText(folder.PathOf("js/app.js"), Script);
        return folder;
    }

    private static Task<ToolResult> RunAsync(string root, params string[] flags) =>
        Tool.RunAsync(Publication.Program, ["precompress", root, .. flags]);

    private static string[] Names(string folder) =>
        [.. Directory.GetFiles(folder).Select(static path => Path.GetFileName(path)).Order(StringComparer.Ordinal)];

    private static string Decode(Stream decoder)
    {
        using var reader = new StreamReader(decoder, Encoding.UTF8);
        return reader.ReadToEnd();
    }
}
