using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using Millrace.Interop.Zstd;
using Millrace.Server.Tests.Kit;
using Millrace.StaticFiles.Dictionaries;

namespace Millrace.Server.Tests;

/// <summary>Dictionaries (RFC 9842) through the program: deployments, restarts, and what must not happen.</summary>
public sealed class DictionaryTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();
    private readonly ZstdLibrary _library;
    private readonly string _root;
    private readonly string[] _certificate;

    public DictionaryTests()
    {
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        _library = library;
        _root = _folder.PathOf("site");
        Directory.CreateDirectory(Path.Combine(_root, "assets"));
        _certificate = OwnCertificate.Make(_folder, "own", "localhost");
        Deploy("app-3f2a1b9c.js", Script(1));
    }

    private string Kept => _folder.PathOf("kept");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("--http1.1")]
    [InlineData("--http2")]
    public async Task A_redeployed_file_is_sent_as_a_difference_also_after_a_restart(string protocol)
    {
        Tool.Require("curl");
        await using (ServerProcess server = await StartAsync())
        {
            await AwaitUseAsync(server, "/assets/app-3f2a1b9c.js");
            Deploy("app-4b7c1d2e.js", Script(2));
            WireResponse coded = await AwaitDifferenceAsync(server, "/assets/app-4b7c1d2e.js", Script(1));
            AssertDecodes(coded, Script(1), Script(2));
            Assert.True(coded.Body.Length < Get(server, "/assets/app-4b7c1d2e.js", "br").Body.Length / 4);
        }

        await using ServerProcess restarted = await StartAsync("--seccomp");
        WireResponse again = await AwaitDifferenceAsync(restarted, "/assets/app-4b7c1d2e.js", Script(1));
        AssertDecodes(again, Script(1), Script(2));
        AssertDecodes(await CurlAsync(restarted, protocol, "/assets/app-4b7c1d2e.js", "GET", Script(1)), Script(1), Script(2));
        WireResponse head = await CurlAsync(restarted, protocol, "/assets/app-4b7c1d2e.js", "HEAD", Script(1));
        Assert.Equal(
            ("dcz", $"{again.Body.Length}", again.Field("ETag")),
            (head.Field("content-encoding"), head.Field("content-length"), head.Field("etag")));

        // Another deployment: what visitors of either earlier one have is a dictionary.
        Deploy("app-5c8d2e3f.js", Script(3));
        AssertDecodes(await AwaitDifferenceAsync(restarted, "/assets/app-5c8d2e3f.js", Script(2)), Script(2), Script(3));
        AssertDecodes(await AwaitDifferenceAsync(restarted, "/assets/app-5c8d2e3f.js", Script(1)), Script(1), Script(3));

        // An unknown dictionary, and none.
        Assert.Equal("br", Get(restarted, "/assets/app-5c8d2e3f.js", "br, dcz", Script(9)).Field("Content-Encoding"));
        Assert.Equal("br", Get(restarted, "/assets/app-5c8d2e3f.js", "br, dcz").Field("Content-Encoding"));
    }

    [Fact]
    public async Task Without_tls_and_where_not_everybody_may_read_there_is_nothing_of_it()
    {
        Directory.CreateDirectory(Path.Combine(_root, "secret"));
        await File.WriteAllTextAsync(Path.Combine(_root, "secret/app-3f2a1b9c.js"), Script(1), TestContext.Current.CancellationToken);
        await using ServerProcess server = await StartAsync("--listen", "127.0.0.1:0", "--allow", "/secret/*=127.0.0.0/8");
        var plain = new Uri(server.Addresses.Single(static address => address.StartsWith("http:", StringComparison.Ordinal)));
        await AwaitUseAsync(server, "/assets/app-3f2a1b9c.js");
        Deploy("app-4b7c1d2e.js", Script(2));
        await File.WriteAllTextAsync(Path.Combine(_root, "secret/app-4b7c1d2e.js"), Script(2), TestContext.Current.CancellationToken);
        _ = await AwaitDifferenceAsync(server, "/assets/app-4b7c1d2e.js", Script(1));

        WireResponse unsecured = Wire.Get(plain, "/assets/app-4b7c1d2e.js", "Accept-Encoding: br, dcz", $"Available-Dictionary: {NameOf(Script(1))}");
        Assert.Equal(("br", null), (unsecured.Field("Content-Encoding"), unsecured.Field("Use-As-Dictionary")));
        Assert.Equal("Accept-Encoding, Available-Dictionary", unsecured.Field("Vary"));
        WireResponse secret = Get(server, "/secret/app-4b7c1d2e.js", "br, dcz", Script(1));
        Assert.NotEqual("dcz", secret.Field("Content-Encoding"));
        Assert.Null(secret.Field("Use-As-Dictionary"));
        WireResponse foreign = Wire.Get(
            server.Url, "/assets/app-4b7c1d2e.js", "Accept-Encoding: br, dcz", $"Available-Dictionary: {NameOf(Script(1))}",
            "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors");
        Assert.Equal(("br", null), (foreign.Field("Content-Encoding"), foreign.Field("Use-As-Dictionary")));

        // The secret file is not in the folder either.
        Assert.Equal(2, Directory.GetFiles(Path.Combine(Kept, "_main")).Length);
    }

    [Fact]
    public async Task The_folder_may_vanish_and_hold_garbage_and_two_servers_may_share_it()
    {
        await using ServerProcess left = await StartAsync();
        await using ServerProcess right = await StartAsync();
        await AwaitUseAsync(left, "/assets/app-3f2a1b9c.js");
        await AwaitUseAsync(right, "/assets/app-3f2a1b9c.js");
        Deploy("app-4b7c1d2e.js", Script(2));
        AssertDecodes(await AwaitDifferenceAsync(left, "/assets/app-4b7c1d2e.js", Script(1)), Script(1), Script(2));
        AssertDecodes(await AwaitDifferenceAsync(right, "/assets/app-4b7c1d2e.js", Script(1)), Script(1), Script(2));

        Directory.Delete(Kept, recursive: true);
        Deploy("app-5c8d2e3f.js", Script(3));
        await AwaitUseAsync(left, "/assets/app-5c8d2e3f.js");
        Assert.Equal("br", (await AwaitCodedAsync(left, "/assets/app-5c8d2e3f.js")).Field("Content-Encoding"));
        foreach (string file in Directory.GetFiles(Kept, "*", SearchOption.AllDirectories))
        {
            await File.WriteAllTextAsync(file, "garbage", TestContext.Current.CancellationToken);
        }

        Deploy("app-6d9e3f4a.js", Script(4));
        await AwaitUseAsync(left, "/assets/app-6d9e3f4a.js");
        Assert.Equal("br", (await AwaitCodedAsync(left, "/assets/app-6d9e3f4a.js")).Field("Content-Encoding"));
        Deploy("app-7e0f4a5b.js", Script(5));
        AssertDecodes(await AwaitDifferenceAsync(left, "/assets/app-7e0f4a5b.js", Script(4)), Script(4), Script(5));
    }

    [Fact]
    public async Task Pages_link_to_a_dictionary_and_are_coded_with_it()
    {
        for (int i = 0; i < 30; i++)
        {
            await File.WriteAllTextAsync(Path.Combine(_root, $"page{i}.html"), Page(i), TestContext.Current.CancellationToken);
        }

        await using ServerProcess server = await StartAsync("--page-dictionary", "auto");
        WireResponse linked = await AwaitAsync(server, "/page7.html", static answer => answer.Field("Link") is not null);
        string path = linked.Field("Link")![1..linked.Field("Link")!.IndexOf('>', StringComparison.Ordinal)];
        Assert.Equal($"<{path}>; rel=\"compression-dictionary\"", linked.Field("Link"));
        WireResponse dictionary = Wire.Get(server.Url, path);
        Assert.Equal(200, dictionary.Status);
        Assert.Equal("public, max-age=31536000, immutable", dictionary.Field("Cache-Control"));
        Assert.StartsWith("match=\"/*\", match-dest=(\"document\"", dictionary.Field("Use-As-Dictionary"), StringComparison.Ordinal);

        string named = $":{Convert.ToBase64String(SHA256.HashData(dictionary.Body))}:";
        WireResponse coded = await AwaitAsync(
            server, "/page7.html", static answer => answer.Field("Content-Encoding") == "dcz", "Accept-Encoding: br, dcz",
            $"Available-Dictionary: {named}", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate");
        Assert.True(new ZstdDictionaryCoder(_library).IsCodingOf(coded.Body, dictionary.Body, Encoding.UTF8.GetBytes(Page(7)), CancellationToken.None));
        WireResponse brotli = Get(server, "/page7.html", "br");
        Assert.True(coded.Body.Length < brotli.Body.Length, $"{coded.Body.Length} bytes with the dictionary, {brotli.Body.Length} without");
        Assert.Equal("br", Wire.Get(server.Url, path, "Accept-Encoding: br").Field("Content-Encoding"));
        Assert.Equal(304, Wire.Get(server.Url, path, $"If-None-Match: {dictionary.Field("ETag")}").Status);
        Assert.Equal(404, Wire.Get(server.Url, path + "0").Status);
    }

    [Fact]
    public async Task Metrics_show_what_it_takes()
    {
        await using ServerProcess server = await StartAsync("--admin", "127.0.0.1:0", "--dictionary-memory", "1m");
        await AwaitUseAsync(server, "/assets/app-3f2a1b9c.js");
        Deploy("app-4b7c1d2e.js", Script(2));
        int bytes = (await AwaitDifferenceAsync(server, "/assets/app-4b7c1d2e.js", Script(1))).Body.Length;
        using var client = new HttpClient();
        MetricsText metrics = MetricsText.Parse(
            await client.GetStringAsync(new Uri(server.Admin, "/metrics"), TestContext.Current.CancellationToken));

        Assert.InRange(metrics.Sum("millrace_site_dictionary_variants_bytes"), bytes, bytes + 64);
        Assert.Equal(Script(1).Length + Script(2).Length, metrics.Sum("millrace_site_dictionary_store_bytes"));
        Assert.Equal(2, metrics.Sum("millrace_site_dictionaries"));
        Assert.Equal(1, metrics.Sum("millrace_site_dictionary_coded_total"));
        Assert.InRange(metrics.Sum("millrace_site_dictionary_coding_seconds_total"), 0.0001, 60);
    }

    [Theory]
    [InlineData("--dictionaries needs --compress on.", "--dictionaries", "--compress", "off")]
    [InlineData("--dictionary-cpu has no effect without dictionaries: add --dictionaries.", "--dictionary-cpu", "10")]
    [InlineData("101 is not a share of a processor in percent.", "--dictionaries", "--dictionary-cpu", "101")]
    [InlineData("0 is not a number of earlier versions.", "--dictionaries", "--dictionary-versions", "0")]
    public async Task A_combination_that_has_no_effect_is_refused(string text, params string[] flags)
    {
        ToolResult refused = await Tool.RunAsync(Publication.Program, ["check", _root, .. flags]);
        Assert.Equal(2, refused.ExitCode);
        Assert.Contains(text, refused.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_folder_in_the_root_is_refused()
    {
        ToolResult refused = await Tool.RunAsync(
            Publication.Program,
            [
                _root, "--listen", "127.0.0.1:0", "--trusted-proxy", "unix", "--dictionaries", "--dictionary-dir", Path.Combine(_root, "kept"),
            ]);
        Assert.NotEqual(0, refused.ExitCode);
        Assert.Contains("is in the root", refused.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_folder_in_the_root_of_another_host_is_refused()
    {
        string other = _folder.PathOf("other");
        Directory.CreateDirectory(other);
        Directory.CreateSymbolicLink(_folder.PathOf("link"), other);
        string[] options =
        [
            _root, "--host", $"b.example={other}", "--listen", "127.0.0.1:0", "--trusted-proxy", "unix", "--dictionaries", "--dictionary-dir",
            _folder.PathOf("link/kept"),
        ];
        foreach (string[] command in (string[][])[options, ["check", .. options]])
        {
            ToolResult refused = await Tool.RunAsync(Publication.Program, command);
            Assert.NotEqual(0, refused.ExitCode);
            Assert.Contains($"is in the root '{other}'. Name a folder outside of it (--dictionary-dir).", refused.Error, StringComparison.Ordinal);
        }

        Assert.Empty(Directory.GetFileSystemEntries(other));
    }

    [Fact]
    public async Task The_scheme_of_a_trusted_proxys_client_decides()
    {
        await using ServerProcess server = await StartAsync("--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1");
        var plain = new Uri(server.Addresses.Single(static address => address.StartsWith("http:", StringComparison.Ordinal)));
        await AwaitUseAsync(server, "/assets/app-3f2a1b9c.js");
        foreach (Uri url in (Uri[])[server.Url, plain])
        {
            Assert.NotNull(Wire.Get(url, "/assets/app-3f2a1b9c.js", "X-Forwarded-Proto: https").Field("Use-As-Dictionary"));
            Assert.NotNull(Wire.Get(url, "/assets/app-3f2a1b9c.js").Field("Use-As-Dictionary"));
            Assert.Null(Wire.Get(url, "/assets/app-3f2a1b9c.js", "X-Forwarded-Proto: http").Field("Use-As-Dictionary"));
        }

        await using ServerProcess untrusting = await StartAsync("--listen", "127.0.0.1:0");
        plain = new Uri(untrusting.Addresses.Single(static address => address.StartsWith("http:", StringComparison.Ordinal)));
        await AwaitUseAsync(untrusting, "/assets/app-3f2a1b9c.js");
        Assert.Null(Wire.Get(plain, "/assets/app-3f2a1b9c.js", "X-Forwarded-Proto: https").Field("Use-As-Dictionary"));
        Assert.NotNull(Wire.Get(untrusting.Url, "/assets/app-3f2a1b9c.js", "X-Forwarded-Proto: http").Field("Use-As-Dictionary"));
    }

    private static string Script(int version) => string.Concat(
        Enumerable.Range(0, 600).Select(i => $"export const value{i} = 'version {(i % 50 == 0 ? version : 0)} of {i * i * 7919 % 10_007}';\n"));

    private static string Page(int number) =>
        $"<!doctype html><title>{number}</title><nav>{string.Concat(Enumerable.Range(0, 40).Select(i => $"<a class=entry href=/page{i}.html>The page {i * 7919}</a>"))}"
        + $"</nav><main>{string.Concat(Enumerable.Range(0, 40).Select(i => $"<p>{i * number * 104729 % 9973} and {i + number}"))}</main>"
        + "<footer>The mill stands by the water, and the water by the mill.</footer>";

    private static string NameOf(string dictionary) => $":{Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(dictionary)))}:";

    private static WireResponse Get(ServerProcess server, string path, string acceptEncoding, string? dictionary = null) =>
        Wire.Get(server.Url, path, [$"Accept-Encoding: {acceptEncoding}", .. dictionary is null ? (string[])[] : [$"Available-Dictionary: {NameOf(dictionary)}"]]);

    private static Task<WireResponse> AwaitUseAsync(ServerProcess server, string path) =>
        AwaitAsync(server, path, static answer => answer.Field("Use-As-Dictionary") == "match=\"/assets/app-*.js\"");

    private static Task<WireResponse> AwaitCodedAsync(ServerProcess server, string path) =>
        AwaitAsync(server, path, static answer => answer.Field("Content-Encoding") is not (null or "gzip"), "Accept-Encoding: br, dcz");

    private static Task<WireResponse> AwaitDifferenceAsync(ServerProcess server, string path, string dictionary) => AwaitAsync(
        server, path, static answer => answer.Field("Content-Encoding") == "dcz", "Accept-Encoding: gzip, deflate, br, zstd, dcz",
        $"Available-Dictionary: {NameOf(dictionary)}", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors");

    /// <summary>Asks until the background is done.</summary>
    private static async Task<WireResponse> AwaitAsync(ServerProcess server, string path, Func<WireResponse, bool> isIt, params string[] fields)
    {
        long startedAt = Stopwatch.GetTimestamp();
        WireResponse answer;
        while (!isIt(answer = Wire.Get(server.Url, path, fields)))
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, $"{path} is still answered with\n{answer.Head}");
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }

        return answer;
    }

    private async Task<WireResponse> CurlAsync(ServerProcess server, string protocol, string path, string method, string dictionary)
    {
        string file = _folder.PathOf("body");
        string[] how = method == "HEAD" ? ["--head"] : ["--dump-header", "-"];
        ToolResult answer = await Tool.RunAsync("curl",
        [
            "-sk", protocol, .. how, "-o", method == "HEAD" ? "-" : file, "-H", "Accept-Encoding: br, dcz",
            "-H", $"Available-Dictionary: {NameOf(dictionary)}", new Uri(server.Url, path).AbsoluteUri,
        ]);
        Assert.Equal(0, answer.ExitCode);
        Assert.StartsWith(protocol == "--http2" ? "HTTP/2 200" : "HTTP/1.1 200", answer.Output, StringComparison.Ordinal);
        byte[] body = method == "HEAD" ? [] : await File.ReadAllBytesAsync(file, TestContext.Current.CancellationToken);
        return new WireResponse(answer.Output.Replace("HTTP/2 ", "HTTP/2.0 ", StringComparison.Ordinal).ReplaceLineEndings("\r\n"), body);
    }

    private void AssertDecodes(WireResponse answer, string dictionary, string content)
    {
        Assert.Equal(200, answer.Status);
        Assert.Equal("dcz", answer.Field("Content-Encoding") ?? answer.Field("content-encoding"));
        Assert.Equal("Accept-Encoding, Available-Dictionary", answer.Field("Vary") ?? answer.Field("vary"));
        Assert.StartsWith("text/javascript", answer.Field("Content-Type") ?? answer.Field("content-type"), StringComparison.Ordinal);
        Assert.True(new ZstdDictionaryCoder(_library).IsCodingOf(
            answer.Body, Encoding.UTF8.GetBytes(dictionary), Encoding.UTF8.GetBytes(content), CancellationToken.None));
    }

    /// <summary>Makes a file the only one of the folder.</summary>
    private void Deploy(string name, string content)
    {
        string assets = Path.Combine(_root, "assets");
        foreach (string old in Directory.GetFiles(assets))
        {
            File.Delete(old);
        }

        File.WriteAllText(Path.Combine(assets, name), content);
    }

    private Task<ServerProcess> StartAsync(params string[] more) => ServerProcess.StartAsync(
        [_root, "--https", "127.0.0.1:0", .. _certificate, "--dictionaries", "--dictionary-dir", Kept, "--dictionary-cpu", "100", .. more]);
}
