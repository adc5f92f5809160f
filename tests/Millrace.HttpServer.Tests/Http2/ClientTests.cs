using System.Diagnostics;
using System.Net;
using System.Security.Cryptography;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>Clients that people use.</summary>
public class ClientTests : SiteFixture
{
    private static readonly string[] Curl = ["-sS", "--http2-prior-knowledge"];
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Curl_gets_every_size()
    {
        string address = await StartWithSizesAsync();
        foreach (int size in SiteFolder.Sizes)
        {
            string output = Path.Combine(Folder.Root, "..", $"{Path.GetFileName(Folder.Root)}.curl");
            try
            {
                string said = await RunAsync(
                    "curl",
                    [.. Curl, "-w", "%{http_version} %{http_code}", "-o", output, address + SiteFolder.Target(size)]);
                Assert.Equal("2 200", said);
                Assert.Equal(SiteFolder.Bytes(size), await File.ReadAllBytesAsync(output, TestContext.Current.CancellationToken));
            }
            finally
            {
                File.Delete(output);
            }
        }
    }

    [Fact]
    public async Task Curl_uploads_and_reads_the_refusal()
    {
        string address = await StartWithSizesAsync();
        string said = await RunAsync(
            "curl",
            [.. Curl, "-w", "%{http_code}", "-o", "/dev/null", "--data-binary", new string('x', 5000), address + "/f1.bin"]);

        Assert.Equal("405", said);
    }

    [Fact]
    public async Task Nghttp_gets_a_hundred_at_once()
    {
        string address = await StartWithSizesAsync();
        string said = await RunAsync("nghttp", "-ns", "-m", "100", address + "/f65537.bin");

        Assert.Equal(100, said.Split('\n').Count(static line => line.Contains(" 200 ", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("/f1000.bin")]
    [InlineData("/f65537.bin")]
    [InlineData("/f1048577.bin")]
    public async Task H2load_has_no_failure(string target)
    {
        string address = await StartWithSizesAsync();
        string said = await RunAsync("h2load", "-n", "400", "-c", "8", "-m", "16", address + target);

        Assert.Contains("400 succeeded, 0 failed, 0 errored, 0 timeout", said, StringComparison.Ordinal);
        Assert.Contains("400 2xx", said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task NETs_client_gets_a_hundred_at_once()
    {
        string address = await StartWithSizesAsync();
        using var client = new HttpClient
        {
            DefaultRequestVersion = HttpVersion.Version20,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = Patience,
        };
        await Task.WhenAll(Enumerable.Range(0, 100).Select(async i =>
        {
            int size = SiteFolder.Sizes[i % SiteFolder.Sizes.Length];
            using HttpResponseMessage response =
                await client.GetAsync(new Uri(address + SiteFolder.Target(size)), TestContext.Current.CancellationToken);
            Assert.Equal((HttpStatusCode.OK, HttpVersion.Version20), (response.StatusCode, response.Version));
            byte[] body = await response.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken);
            Assert.Equal(SHA256.HashData(SiteFolder.Bytes(size)), SHA256.HashData(body));
        }));
    }

    private async Task<string> StartWithSizesAsync()
    {
        Folder.AddSizes();
        return $"http://{(await StartAsync()).EndPoint}";
    }

    private static async Task<string> RunAsync(string tool, params string[] arguments)
    {
        Assert.SkipUnless(
            Environment.GetEnvironmentVariable("PATH")!.Split(':').Any(folder => File.Exists(Path.Combine(folder, tool))),
            $"{tool} is not installed.");
        using Process process = Process.Start(new ProcessStartInfo(tool, arguments) { RedirectStandardOutput = true })!;
        try
        {
            string said = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Patience);
            await process.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(Patience);
            Assert.Equal(0, process.ExitCode);
            return said;
        }
        finally
        {
            if (!process.HasExited)
            {
                process.Kill();
            }
        }
    }
}
