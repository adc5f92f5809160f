using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with impit, whose QUIC is quinn, in Node.</summary>
public class ImpitTests
{
    [Theory]
    [InlineData("chrome")]
    [InlineData("firefox")]
    public async Task Files_of_all_sizes_arrive_whole_at_once(string browser)
    {
        string project = await NodeProject.MakeAsync(
            Path.Combine(Places.Repository, "tests/Millrace.Server.Tests/Http3/Impit"), "impit");
        int[] sizes = [1, 1_200, 16_384, 70_000, 3_000_000];
        string[] hashes = [];
        await using Http3Site site = await Http3Site.StartAsync(folder =>
            hashes = [.. sizes.Select(size => Convert.ToHexString(SHA256.HashData(folder.Add($"{size}.bin", size))))]);
        int[] asked = [.. Enumerable.Range(0, 60).Select(i => i % sizes.Length)];

        string output = await Tool.RunToSuccessAsync(
            Http3Site.Patience, "node",
            [Path.Combine(project, "fetch.mjs"), browser, .. asked.Select(i => $"{site.Url}{sizes[i]}.bin")]);

        Assert.Equal(asked.Select(i => $"200 {sizes[i]} {hashes[i]}"), output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        await site.AwaitLogAsync(" HTTP/3.0\"", asked.Length);
    }
}
