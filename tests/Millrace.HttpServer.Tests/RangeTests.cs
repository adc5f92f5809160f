using System.Text;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>Parts of files, out of memory, by one read and in chunks.</summary>
public class RangeTests : SiteFixture
{
    public static TheoryData<int, int, int> Parts => new()
    {
        { 10_000, 0, 0 }, { 10_000, 9_999, 9_999 }, { 10_000, 100, 8_000 }, { 10_000, 0, 9_999 },
        { 50_000, 49_999, 49_999 }, { 50_000, 1, 16_384 }, { 50_000, 1, 16_385 }, { 50_000, 0, 49_999 },
        { 200_000, 0, 0 }, { 200_000, 199_999, 199_999 }, { 200_000, 17, 150_000 }, { 200_000, 0, 199_999 },
        { 262_144, 0, 262_143 }, { 262_144, 1, 262_143 },
        { 1_500_000, 0, 0 }, { 1_500_000, 1_499_999, 1_499_999 }, { 1_500_000, 262_143, 262_145 },
        { 1_500_000, 100_000, 1_200_000 }, { 1_500_000, 0, 1_499_999 },
    };

    [Theory]
    [MemberData(nameof(Parts))]
    public async Task A_part_is_exactly_the_bytes_asked_for_and_the_next_response_follows(int size, int first, int last)
    {
        byte[] bytes = Folder.AddSized(size);
        Folder.AddSized(1000);
        foreach (bool isOnDemand in (bool[])[false, true])
        {
            RunningSite site = await StartAsync(options => options with { DescriptorsMax = isOnDemand ? 0 : null });
            Wire wire = await site.ConnectAsync();

            await wire.SendAsync(Request(SiteFolder.Target(size), $"bytes={first}-{last}") + "GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
            Response part = await wire.ReadResponseAsync();

            Assert.Equal(206, part.Status);
            Assert.Equal($"bytes {first}-{last}/{size}", part.Field("Content-Range"));
            Assert.True(part.Body.AsSpan().SequenceEqual(bytes.AsSpan(first, last - first + 1)));
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Theory]
    [InlineData(10_000)]
    [InlineData(200_000)]
    [InlineData(1_500_000)]
    public async Task Several_parts_come_in_one_body_of_the_length_that_was_announced(int size)
    {
        byte[] bytes = Folder.AddSized(size);
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();

        await wire.SendAsync(
            Request(SiteFolder.Target(size), $"bytes=0-99,5000-6999,-1000") + "GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        Response response = await wire.ReadResponseAsync();

        Assert.Equal(206, response.Status);
        Assert.Null(response.Field("Content-Range"));
        const string Type = "multipart/byteranges; boundary=";
        Assert.StartsWith(Type, response.Field("Content-Type"), StringComparison.Ordinal);
        string boundary = response.Field("Content-Type")![Type.Length..];
        byte[] expected =
        [
            .. Part(boundary, $"bytes 0-99/{size}"), .. bytes[..100],
            .. Part(boundary, $"bytes 5000-6999/{size}"), .. bytes[5000..7000],
            .. Part(boundary, $"bytes {size - 1000}-{size - 1}/{size}"), .. bytes[^1000..],
            .. Encoding.ASCII.GetBytes($"\r\n--{boundary}--\r\n"),
        ];
        Assert.True(response.Body.AsSpan().SequenceEqual(expected));
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Each_body_of_several_parts_has_a_boundary_of_its_own()
    {
        Folder.AddSized(10_000);
        Wire wire = await (await StartAsync()).ConnectAsync();

        string?[] types = new string?[20];
        for (int i = 0; i < types.Length; i++)
        {
            await wire.SendAsync(Request("/f10000.bin", "bytes=0-0,500-500"));
            types[i] = (await wire.ReadResponseAsync()).Field("Content-Type");
        }

        Assert.Equal(types.Length, types.Distinct().Count());
    }

    [Fact]
    public async Task A_client_that_goes_away_within_several_parts_leaves_nothing_behind()
    {
        Folder.AddSized(16 * 1024 * 1024);
        RunningSite site = await StartAsync(options => options with { DescriptorsMax = 0 });
        for (int i = 0; i < 20; i++)
        {
            Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
            await wire.SendAsync(Request(SiteFolder.Target(16 * 1024 * 1024), "bytes=0-5000000,6000000-12000000"));
            _ = await wire.ReadHeadAsync();
            wire.Reset();
        }

        // The fixture looks for descriptors, blocks and leases that are still out.
    }

    private static string Request(string target, string range) => $"GET {target} HTTP/1.1\r\nHost: a\r\nRange: {range}\r\n\r\n";

    private static byte[] Part(string boundary, string range) => Encoding.ASCII.GetBytes(
        $"\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: {range}\r\n\r\n");
}
