using System.Diagnostics;
using System.Globalization;
using Millrace.Interop.Zstd;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>Zstd beside brotli and gzip, and without the library.</summary>
public sealed class ZstdTests
{
    /// <summary>Hides the library in a mount namespace of the process.</summary>
    private const string Hide = """
        for library in $(ldconfig -p | awk '/libzstd\.so/ { print $NF }'); do mount --bind /dev/null "$library"; done
        exec "$@"
        """;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private static readonly string Script = string.Concat(
        Enumerable.Range(0, 2_000).Select(static i => string.Create(CultureInfo.InvariantCulture, $"console.log('line {i * i}');\n")));

    [Theory]
    [InlineData("--http1.1")]
    [InlineData("--http2-prior-knowledge")]
    public async Task A_script_is_soon_sent_in_each_coding_and_the_smallest_to_who_takes_all(string protocol)
    {
        using var folder = new TempFolder();
        folder.WriteText("app.js", Script);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.Root, "--listen", "127.0.0.1:0");
        await WhenCodedAsync(server, "zstd");

        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        byte[] coded = Wire.Get(server.Url, "/app.js", "Accept-Encoding: zstd").Body;
        using var zstd = new StreamReader(new ZstdReadStream(library, new MemoryStream(coded)));
        Assert.Equal(Script, await zstd.ReadToEndAsync(TestContext.Current.CancellationToken));

        string[] codings = ["br", "zstd", "gzip"];
        string smallest = codings.MinBy(coding => Wire.Get(server.Url, "/app.js", $"Accept-Encoding: {coding}").Body.Length)!;
        Assert.Equal(smallest, await CodingOfAsync(server, protocol, "gzip, deflate, br, zstd"));
        Assert.Equal("zstd", await CodingOfAsync(server, protocol, "gzip, zstd;q=0.5, gzip;q=0.1"));
        Assert.Equal("gzip", await CodingOfAsync(server, protocol, "gzip, zstd;q=0.9"));
        Assert.Equal("", await CodingOfAsync(server, protocol, "zstd;q=0"));
    }

    [Fact]
    public async Task Without_the_library_there_are_the_other_codings_and_doctor_says_so()
    {
        Nobody.RequireRoot();
        using var folder = new TempFolder();
        folder.WriteText("app.js", Script);
        ToolResult made = await RunHiddenAsync("precompress", folder.Root);
        Assert.StartsWith("2 written", made.Output, StringComparison.Ordinal);
        Assert.False(File.Exists(folder.PathOf("app.js.zst")));
        ToolResult doctor = await RunHiddenAsync("doctor", folder.Root);
        Assert.Contains("brotli and gzip only: libzstd.so.1 is not installed", doctor.Output, StringComparison.Ordinal);
        File.Delete(folder.PathOf("app.js.br"));
        File.Delete(folder.PathOf("app.js.gz"));

        string[] command = ["--mount", "sh", "-c", Hide, "sh", Publication.Program, folder.Root, "--listen", "127.0.0.1:0"];
        await using ServerProcess server = await ServerProcess.StartAsync("unshare", command, "Serving ");
        await WhenCodedAsync(server, "br");
        Assert.Equal("gzip", Wire.Get(server.Url, "/app.js", "Accept-Encoding: zstd, gzip;q=0.5").Field("Content-Encoding"));
    }

    private static Task<ToolResult> RunHiddenAsync(params string[] arguments) =>
        Tool.RunAsync("unshare", ["--mount", "sh", "-c", Hide, "sh", Publication.Program, .. arguments]);

    private static async Task<string> CodingOfAsync(ServerProcess server, string protocol, string acceptEncoding)
    {
        string[] curl =
        [
            "-s", protocol, "-o", "/dev/null", "-w", "%header{content-encoding}", "-H", $"Accept-Encoding: {acceptEncoding}",
            new Uri(server.Url, "/app.js").AbsoluteUri,
        ];
        ToolResult answer = await Tool.RunAsync("curl", curl);
        Assert.Equal(0, answer.ExitCode);
        return answer.Output;
    }

    private static async Task WhenCodedAsync(ServerProcess server, string coding)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (Wire.Get(server.Url, "/app.js", $"Accept-Encoding: {coding}").Field("Content-Encoding") != coding)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, $"There is still no {coding}.");
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }
    }
}
