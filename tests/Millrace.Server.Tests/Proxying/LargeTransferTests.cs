using System.Net;
using System.Security.Cryptography;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>Bodies of a gigabyte through the program, whose memory stays as it is.</summary>
public class LargeTransferTests
{
    private const long Bytes = 1_000_000_000;

    /// <summary>What the server may grow by: its buffers and the runtime's own ups and downs.</summary>
    private const int GrowthKibMax = 48 * 1024;

    public static TheoryData<string> Versions => ProxiedSite.Versions;

    [Theory]
    [MemberData(nameof(Versions))]
    [Trait("Duration", "Long")]
    public async Task A_download_of_a_gigabyte_takes_no_memory(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await WarmUpAsync(site, version);
        await BoundedAsync(site, async () =>
        {
            using HttpResponseMessage response = await site.SendAsync(
                version, HttpMethod.Get, $"/api/download/{Bytes}", completion: HttpCompletionOption.ResponseHeadersRead);
            await using Stream body = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
            byte[] buffer = new byte[256 * 1024];
            long received = 0;
            while (await body.ReadAsync(buffer, TestContext.Current.CancellationToken) is var count and > 0)
            {
                received += count;
            }

            Assert.Equal(Bytes, received);
        });
    }

    [Theory]
    [MemberData(nameof(Versions))]
    [Trait("Duration", "Long")]
    public async Task An_upload_of_a_gigabyte_takes_no_memory(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await WarmUpAsync(site, version);
        await BoundedAsync(site, async () =>
        {
            using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
            using var body = new GeneratedContent(Bytes, hash);
            using HttpResponseMessage response = await site.SendAsync(version, HttpMethod.Post, "/api/upload", body);
            Assert.Equal(
                $"{Bytes} {Convert.ToHexStringLower(hash.GetHashAndReset())}",
                await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        });
    }

    /// <summary>An upstream that pauses again and again, so that its client, too, has to wait for it.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    [Trait("Duration", "Long")]
    public async Task An_upload_of_ten_gigabytes_to_a_slow_upstream_takes_no_memory(string version)
    {
        const long All = 10 * Bytes;
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await WarmUpAsync(site, version);
        await BoundedAsync(site, async () =>
        {
            using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
            using var body = new GeneratedContent(All, hash);
            using HttpResponseMessage response = await site.SendAsync(version, HttpMethod.Post, "/api/upload/20", body);
            Assert.Equal(
                $"{All} {Convert.ToHexStringLower(hash.GetHashAndReset())}",
                await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
        });
    }

    /// <summary>A client that does not read, and an upstream that would send a gigabyte at once.</summary>
    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_client_that_does_not_read_holds_its_upstream_back(string version)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        await WarmUpAsync(site, version);
        await BoundedAsync(site, async () =>
        {
            var held = new List<HttpResponseMessage>();
            for (int i = 0; i < 20; i++)
            {
                held.Add(await site.SendAsync(
                    version, HttpMethod.Get, $"/api/download/{Bytes}", completion: HttpCompletionOption.ResponseHeadersRead));
            }

            // Sleeps: what is not held back would be received in this time.
            await Task.Delay(1_500, TestContext.Current.CancellationToken);
            held.ForEach(static response => response.Dispose());
        });
    }

    private static async Task WarmUpAsync(ProxiedSite site, string version)
    {
        using HttpResponseMessage first = await site.SendAsync(version, HttpMethod.Get, "/api/download/30000000");
        using HttpResponseMessage second = await site.SendAsync(
            version, HttpMethod.Post, "/api/upload", new ByteArrayContent(new byte[30_000_000]));
        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.OK), (first.StatusCode, second.StatusCode));
    }

    private static async Task BoundedAsync(ProxiedSite site, Func<Task> transfer)
    {
        int before = site.Server.ResidentKib();
        int most = before;
        Task running = transfer();
        while (!running.IsCompleted)
        {
            most = Math.Max(most, site.Server.ResidentKib());
            // Sleeps: between two looks.
            await Task.Delay(20, TestContext.Current.CancellationToken);
        }

        await running;
        Assert.True(most - before < GrowthKibMax, $"The server grew from {before} to {most} KiB.");
    }

    /// <summary>A body that is made as it is sent, with its hash.</summary>
    private sealed class GeneratedContent(long bytes, IncrementalHash hash) : HttpContent
    {
        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            byte[] part = new byte[256 * 1024];
            for (long left = bytes; left > 0;)
            {
                int count = (int)Math.Min(left, part.Length);
                part[0] = (byte)left;
                hash.AppendData(part, 0, count);
                await stream.WriteAsync(part.AsMemory(0, count));
                left -= count;
            }
        }

        protected override bool TryComputeLength(out long length)
        {
            length = bytes;
            return true;
        }
    }
}
