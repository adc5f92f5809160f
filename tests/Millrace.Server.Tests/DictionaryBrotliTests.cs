using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using Millrace.Interop.Brotli;
using Millrace.Interop.Zstd;
using Millrace.Server.Tests.Kit;
using Millrace.StaticFiles.Dictionaries;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>The coding dcb beside dcz through the program, with a libbrotli that takes dictionaries and without.</summary>
public sealed class DictionaryBrotliTests : IDisposable
{
    private const string First = "/assets/app-3f2a1b9c.js";
    private const string Second = "/assets/app-4b7c1d2e.js";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();
    private readonly string _root;
    private readonly string[] _arguments;

    public DictionaryBrotliTests()
    {
        _root = _folder.PathOf("site");
        Directory.CreateDirectory(Path.Combine(_root, "assets"));
        _arguments =
        [
            "--https", "127.0.0.1:0", .. OwnCertificate.Make(_folder, "own", "localhost"), "--dictionaries", "--dictionary-dir",
            _folder.PathOf("kept"), "--dictionary-cpu", "100", "--admin", "127.0.0.1:0",
        ];
        Deploy(First, 1);
    }

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("--http1.1")]
    [InlineData("--http2")]
    public async Task Each_client_gets_its_coding_and_who_takes_both_the_smaller_one(string protocol)
    {
        Tool.Require("curl");
        var brotli = new BrotliDictionaryCoder(NewerBrotli.Require());
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        var zstd = new ZstdDictionaryCoder(library);
        await using ServerProcess server = await ServerProcess.StartWithAsync(
            NewerBrotli.RequireForProcess(), [_root, "--seccomp", .. _arguments]);
        await AwaitAsync(server, First, "br", static answer => answer.Field("Use-As-Dictionary") is not null);
        Deploy(Second, 2);
        WireResponse dcb = await AwaitAsync(server, Second, "br, dcb", static answer => answer.Field("Content-Encoding") == "dcb");
        WireResponse dcz = Get(server, Second, "br, dcz");

        Assert.Equal("dcz", dcz.Field("Content-Encoding"));
        Assert.True(brotli.IsCodingOf(dcb.Body, Script(1), Script(2), CancellationToken.None));
        Assert.True(zstd.IsCodingOf(dcz.Body, Script(1), Script(2), CancellationToken.None));
        WireResponse plain = Get(server, Second, "br");
        Assert.True(dcb.Body.Length < plain.Body.Length / 4, $"{dcb.Body.Length} bytes, {plain.Body.Length} without a dictionary");
        Assert.Equal(3, ((string?[])[dcb.Field("ETag"), dcz.Field("ETag"), plain.Field("ETag")]).Distinct().Count());
        Assert.All((WireResponse[])[dcb, dcz, plain], static answer =>
            Assert.Equal((200, "Accept-Encoding, Available-Dictionary"), (answer.Status, answer.Field("Vary"))));
        Assert.NotNull(dcb.Field("Use-As-Dictionary"));

        string smaller = dcb.Body.Length <= dcz.Body.Length ? "dcb" : "dcz";
        byte[] received = await CurlAsync(server, protocol, "gzip, deflate, br, zstd, dcb, dcz", smaller);
        Assert.Equal(smaller == "dcb" ? dcb.Body : dcz.Body, received);
        Assert.Equal(dcz.Body, await CurlAsync(server, protocol, "br, dcb;q=0.9, dcz", "dcz"));
        Assert.Equal(dcb.Body, await CurlAsync(server, protocol, "br, dcb, dcz;q=0.9", "dcb"));
        Assert.Equal(plain.Body, await CurlAsync(server, protocol, "br, dcb;q=0, dcz;q=0", "br"));

        using var client = new HttpClient();
        MetricsText metrics = MetricsText.Parse(
            await client.GetStringAsync(new Uri(server.Admin, "/metrics"), TestContext.Current.CancellationToken));
        Assert.Equal(2, metrics.Sum("millrace_site_dictionary_coded_total"));
        int bytes = dcb.Body.Length + dcz.Body.Length;
        Assert.InRange(metrics.Sum("millrace_site_dictionary_variants_bytes"), bytes, bytes + 128);
    }

    [Fact]
    public async Task Without_the_library_there_is_dcz_alone_and_doctor_says_so()
    {
        // What cannot be loaded comes before the machine's own.
        string hidden = _folder.PathOf("hidden");
        Directory.CreateDirectory(hidden);
        await File.WriteAllBytesAsync(Path.Combine(hidden, BrotliLibrary.Names[0]), [], TestContext.Current.CancellationToken);
        (string, string)[] variables = [("LD_LIBRARY_PATH", hidden)];
        await using (ServerProcess server = await ServerProcess.StartWithAsync(variables, [_root, .. _arguments]))
        {
            await AwaitAsync(server, First, "br", static answer => answer.Field("Use-As-Dictionary") is not null);
            Deploy(Second, 2);
            await AwaitAsync(server, Second, "br, dcb, dcz", static answer => answer.Field("Content-Encoding") == "dcz");
            Assert.Equal("br", Get(server, Second, "br, dcb").Field("Content-Encoding"));
        }

        Assert.Contains("dictionaries (dcz; no dcb: libbrotlicommon.so.1 is not installed)", await DoctorAsync(variables), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Doctor_says_the_version_of_the_library()
    {
        Version version = NewerBrotli.Require().Version;
        string report = await DoctorAsync(NewerBrotli.RequireForProcess());

        Assert.Contains($"and with dictionaries (dcz, and dcb by libbrotli {version}).", report, StringComparison.Ordinal);
    }

    private static byte[] Script(int version) => Encoding.UTF8.GetBytes(string.Concat(
        Enumerable.Range(0, 600).Select(i => $"export const value{i} = 'version {(i % 50 == 0 ? version : 0)} of {i * i * 7919 % 10_007}';\n")));

    private static string Dictionary() => $"Available-Dictionary: :{Convert.ToBase64String(SHA256.HashData(Script(1)))}:";

    private static WireResponse Get(ServerProcess server, string path, string acceptEncoding) =>
        Wire.Get(server.Url, path, $"Accept-Encoding: {acceptEncoding}", Dictionary());

    /// <summary>Asks until the background is done.</summary>
    private static async Task<WireResponse> AwaitAsync(ServerProcess server, string path, string acceptEncoding, Func<WireResponse, bool> isIt)
    {
        long startedAt = Stopwatch.GetTimestamp();
        WireResponse answer;
        while (!isIt(answer = Get(server, path, acceptEncoding)))
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, $"{path} is still answered with\n{answer.Head}");
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }

        return answer;
    }

    private async Task<string> DoctorAsync(IEnumerable<(string Name, string Value)> variables)
    {
        string[] set = [.. variables.Select(static one => $"{one.Name}={one.Value}")];
        return (await Tool.RunAsync("env", [.. set, Publication.Program, "doctor", _root, .. _arguments])).Output;
    }

    private async Task<byte[]> CurlAsync(ServerProcess server, string protocol, string acceptEncoding, string coding)
    {
        string file = _folder.PathOf("body");
        ToolResult answer = await Tool.RunAsync("curl",
        [
            "-sk", protocol, "-o", file, "-w", "%{http_version} %header{content-encoding}", "-H", $"Accept-Encoding: {acceptEncoding}",
            "-H", Dictionary(), new Uri(server.Url, Second).AbsoluteUri,
        ]);
        Assert.Equal((0, $"{(protocol == "--http2" ? "2" : "1.1")} {coding}"), (answer.ExitCode, answer.Output));
        return await File.ReadAllBytesAsync(file, TestContext.Current.CancellationToken);
    }

    /// <summary>Makes a file the only one of the folder.</summary>
    private void Deploy(string path, int version)
    {
        foreach (string old in Directory.GetFiles(Path.Combine(_root, "assets")))
        {
            File.Delete(old);
        }

        File.WriteAllBytes(_root + path, Script(version));
    }
}
