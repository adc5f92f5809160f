using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

public class DownloadTests
{
    [Fact]
    public async Task Curl_fetches_every_file_byte_by_byte_from_every_kind_of_address()
    {
        Tool.Require("curl");
        using var folder = new TempFolder();
        string socket = folder.PathOf("m.sock");
        await using ServerProcess server = await ServerProcess.StartAsync(
            Places.SampleSite, "--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--listen", $"unix:{socket}");
        Assert.Equal(3, server.Addresses.Count);
        Assert.Equal($"unix:{socket}", server.Addresses[2]);

        await AssertServesAllAsync(server.Addresses[0], folder);
        await AssertServesAllAsync(server.Addresses[1], folder);
        await AssertServesAllAsync("http://localhost/", folder, "--unix-socket", socket);
    }

    [Fact]
    public async Task Curl_follows_the_redirect_of_a_directory()
    {
        Tool.Require("curl");
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");

        string page = await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(20), "curl", "-sSfL", "-w", "%{num_redirects} %{url_effective}", new Uri(server.Url, "about?a=b").ToString());

        Assert.EndsWith($"1 {server.Url}about/?a=b", page, StringComparison.Ordinal);
    }

    /// <summary>One curl for all files: it keeps its connection and sends one request after the other.</summary>
    private static async Task AssertServesAllAsync(string address, TempFolder folder, params string[] options)
    {
        string copies = Directory.CreateDirectory(folder.PathOf("copies")).FullName;
        string[] targets = [.. Places.SampleTargets];
        string[] transfers = [.. targets.SelectMany((target, i) => (string[])["-o", Path.Combine(copies, $"{i}"), address + target[1..]])];

        await Tool.RunToSuccessAsync(TimeSpan.FromSeconds(30), "curl", ["-sSf", .. options, .. transfers]);

        foreach ((int i, string target) in targets.Index())
        {
            byte[] expected = await File.ReadAllBytesAsync(Places.SampleSite + target);
            byte[] got = await File.ReadAllBytesAsync(Path.Combine(copies, $"{i}"));
            Assert.True(got.AsSpan().SequenceEqual(expected), $"{address} served another {target}: {got.Length} of {expected.Length} bytes");
        }

        Directory.Delete(copies, recursive: true);
    }
}
