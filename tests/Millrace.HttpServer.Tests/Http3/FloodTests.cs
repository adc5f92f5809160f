using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>What costs a server and brings nobody anything is too much of it, and those who mean well are not taken for such.</summary>
public class FloodTests : Http3Test
{
    private const int Times = 100;

    private static readonly HttpServerLimits Tight = new()
    {
        Http3 = new Http3Limits { OverheadFramesMax = 50, OverheadFramesPerSecond = 1, ResetsMax = 20, ResetsPerSecond = 1 },
    };

    private static readonly byte[] Post = Http3Bytes.Request("POST", "/none");

    [Fact]
    public Task Requests_that_are_reset_at_once_are_too_much() => AssertTooManyAsync(async client =>
    {
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large), isEnd: false);
        stream.Abort();
        stream.StopSending();
    });

    [Fact]
    public Task Responses_that_are_refused_at_once_are_too_much() => AssertTooManyAsync(async client =>
    {
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        stream.StopSending();
    });

    [Fact]
    public Task Requests_that_are_reset_before_they_are_whole_are_too_much() => AssertTooManyAsync(async client =>
    {
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large).AsMemory(0, 5), isEnd: false);
        stream.Abort();
    });

    [Fact]
    public Task Malformed_requests_are_too_much() => AssertTooManyAsync(
        static client => client.SendAsync(Http3Bytes.Headers((":method", "GET"))));

    [Fact]
    public Task Streams_without_a_request_are_too_much() => AssertTooManyAsync(static client => client.SendAsync(default));

    [Fact]
    public Task Unknown_frames_are_too_much() => AssertTooMuchAsync(
        [.. Post, .. Enumerable.Repeat(Http3Bytes.Grease(3, 0), Times).SelectMany(static frame => frame)]);

    [Fact]
    public Task Unknown_frames_before_a_request_are_too_much() => AssertTooMuchAsync(
        [.. Enumerable.Repeat(Http3Bytes.Grease(3, 0), Times).SelectMany(static frame => frame)]);

    [Fact]
    public Task Large_unknown_frames_are_too_much() => AssertTooMuchAsync([.. Post, .. Http3Bytes.FrameHeader(0x21, 1L << 40)]);

    [Fact]
    public Task Empty_DATA_is_too_much() => AssertTooMuchAsync(
        [.. Post, .. Enumerable.Repeat(Http3Bytes.Data(), Times).SelectMany(static frame => frame)]);

    [Fact]
    public Task DATA_byte_by_byte_is_too_much() => AssertTooMuchAsync(
        [.. Post, .. Enumerable.Repeat(Http3Bytes.Data(1), Times).SelectMany(static frame => frame)]);

    [Fact]
    public Task PRIORITY_UPDATE_is_too_much() => AssertTooMuchOnControlAsync(static i => Http3Bytes.PriorityUpdate(4 * (i % 90), "u=1"));

    [Fact]
    public Task MAX_PUSH_ID_is_too_much() => AssertTooMuchOnControlAsync(static i => Http3Bytes.MaxPushId(i));

    [Fact]
    public Task GOAWAY_is_too_much() => AssertTooMuchOnControlAsync(static i => Http3Bytes.GoAway(0));

    [Fact]
    public Task Unknown_frames_on_the_control_stream_are_too_much() => AssertTooMuchOnControlAsync(static i => Http3Bytes.Grease(i));

    [Fact]
    public async Task Streams_of_unknown_types_are_too_much()
    {
        Http3TestConnection client = await OpenAsync(Tight);
        await AssertEndsAsync(client, () => client.SendAsync(Http3Bytes.Number(0x21), isBidirectional: false));
    }

    [Fact]
    public async Task Entries_that_are_copied_over_and_over_are_too_much()
    {
        Http3TestConnection client = await OpenAsync(Tight);
        byte[] insert = [.. QpackFields.Capacity(4096), .. QpackFields.Insert("a", new string('b', 1_500))];
        await client.Encoder!.WriteAsync((byte[])[.. insert, .. new byte[64 * 100]]);
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    /// <summary>One byte for each 4 KB: decoded in full these are megabytes each.</summary>
    [Theory]
    [InlineData(2_000, 1)]
    [InlineData(50, 1)]
    [InlineData(12, 30)]
    public async Task Field_sections_that_refer_to_a_large_entry_over_and_over_are_too_much(int references, int sections)
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync((byte[])[.. QpackFields.Capacity(4096), .. QpackFields.Insert("x", new string('v', 3_900))]);
        byte[] fields = QpackFields.Section([.. Http3Bytes.RequestFields("GET", Small)])[2..];
        byte[] request = Http3Bytes.Frame(
            Http3Bytes.HeadersType, [2, 0, .. fields, .. Enumerable.Repeat((byte)0x80, references)]);
        for (int i = 0; i < sections; i++)
        {
            try
            {
                await client.SendAsync(request);
            }
            catch (Http3TestException)
            {
                break;
            }
        }

        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    [Fact]
    public async Task A_head_that_is_a_little_too_large_now_and_then_is_answered_and_no_more()
    {
        Http3TestConnection client = await OpenAsync();
        string value = new('v', 40_000);
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal("431", (await client.GetAsync(Small, $"x: {value}")).Status);
            await AssertServesAsync(client);
        }
    }

    [Fact]
    public async Task Those_who_are_answered_may_go_on()
    {
        Http3TestConnection client = await OpenAsync(Tight);
        for (int i = 0; i < 200; i++)
        {
            await AssertServesAsync(client);
        }

        // Every second answer is given up.
        for (int i = 0; i < 100; i++)
        {
            Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
            stream.StopSending();
            await AssertServesAsync(client);
        }
    }

    private async Task AssertTooManyAsync(Func<Http3TestConnection, Task> one)
    {
        Http3TestConnection client = await OpenAsync(Tight);
        await AssertEndsAsync(client, () => one(client));
    }

    private static async Task AssertEndsAsync(Http3TestConnection client, Func<Task> one)
    {
        int times = 0;
        try
        {
            for (; times < 10 * Times && !client.HasClosed; times++)
            {
                await one();
            }
        }
        catch (Http3TestException)
        {
            // The connection has ended, or the server has stopped the stream.
        }

        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
        Assert.True(times >= 20, $"after {times}");
    }

    private async Task AssertTooMuchAsync(byte[] bytes)
    {
        Http3TestConnection client = await OpenAsync(Tight);
        await client.SendAsync(bytes, isEnd: false);
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }

    private async Task AssertTooMuchOnControlAsync(Func<int, byte[]> frame)
    {
        Http3TestConnection client = await OpenAsync(Tight);
        await client.Control!.WriteAsync((byte[])[.. Enumerable.Range(0, Times).SelectMany(frame)]);
        await AssertFailsAsync(client, Http3Codes.ExcessiveLoad);
    }
}
