using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with quic-go, by a small program that is compiled once.</summary>
public class QuicGoTests
{
    private const string Packages = "/usr/share/gocode";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(4);

    private static readonly Lazy<Task<string>> Client = new(static () => CompileAsync());

    [Fact]
    public async Task Files_of_all_sizes_arrive_whole_at_once()
    {
        Tool.Require("go");
        Assert.SkipUnless(Directory.Exists(Packages + "/src/github.com/lucas-clemente/quic-go/http3"), "quic-go is not installed.");
        int[] sizes = [0, 1, 1_200, 16_384, 70_000, 3_000_000];
        string[] hashes = [];
        await using Http3Site site = await Http3Site.StartAsync(folder =>
            hashes = [.. sizes.Select(size => Convert.ToHexString(SHA256.HashData(folder.Add($"{size}.bin", size))))]);
        int[] asked = [.. Enumerable.Range(0, 120).Select(i => i % sizes.Length)];

        string output = await Tool.RunToSuccessAsync(
            Deadline, await Client.Value, [site.Authority, .. asked.Select(i => $"{site.Url}{sizes[i]}.bin"), $"{site.Url}none"]);

        Assert.Equal(
            asked.Select(i => $"HTTP/3.0 200 {sizes[i]} {hashes[i]}"),
            output.Split('\n', StringSplitOptions.RemoveEmptyEntries)[..^1]);
        Assert.StartsWith("HTTP/3.0 404 ", output.Split('\n')[asked.Length], StringComparison.Ordinal);
    }

    private static async Task<string> CompileAsync()
    {
        string source = Path.Combine(Places.Repository, "tests/Millrace.Server.Tests/Http3/QuicGo");
        string hash = Convert.ToHexStringLower(SHA256.HashData(await File.ReadAllBytesAsync(Path.Combine(source, "client.go"))))[..16];
        string folder = Path.Combine(Places.Repository, "artifacts", "quic-go-client", hash);
        string program = Path.Combine(folder, "client");
        if (!File.Exists(program))
        {
            Directory.CreateDirectory(folder);
            await Tool.RunToSuccessAsync(
                Deadline, "env", "GO111MODULE=off", $"GOPATH={Packages}", $"GOCACHE={folder}/cache", "go", "build", "-o", program,
                Path.Combine(source, "client.go"));
        }

        return program;
    }
}
