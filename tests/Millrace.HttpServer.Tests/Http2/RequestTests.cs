using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9113, section 8: requests and what answers them.</summary>
public class RequestTests : Http2Test
{
    [Theory]
    [InlineData(":method=GET|:scheme=http|:authority=a")]
    [InlineData(":scheme=http|:authority=a|:path=/")]
    [InlineData(":method=GET|:authority=a|:path=/")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|:path=/")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|:status=200")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|:proto=x")]
    [InlineData(":method=GET|:scheme=http|:authority=a|x=y|:path=/")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|X-Upper=y")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|connection=close")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|keep-alive=1")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|proxy-connection=close")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|transfer-encoding=chunked")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|upgrade=h2c")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|te=gzip")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|x=a\r\nb: c")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|x= a")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|a b=c")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/ HTTP/1.1\r\nx: y")]
    [InlineData(":method=G T|:scheme=http|:authority=a|:path=/")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|content-length=1")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|content-length=1|content-length=2")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|content-length=-1")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/|host=b")]
    [InlineData(":method=CONNECT|:scheme=http|:authority=a:1|:path=/")]
    public Task A_malformed_request_is_reset_with_a_PROTOCOL_ERROR(string fields) =>
        AssertResetsAsync(1, Http2Error.ProtocolError, Frame.Headers(1, BlockOf(fields)));

    [Theory]
    [InlineData(":path=/f1000.bin|:authority=a|:scheme=http|:method=GET")]
    [InlineData(":method=GET|:scheme=http|:path=/f1000.bin|host=a")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/f1000.bin|host=a")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/f1000.bin|te=trailers")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/f1000.bin|cookie=a=b|cookie=c=d")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/f1000.bin|content-length=0")]
    [InlineData(":method=GET|:scheme=http|:authority=a|:path=/f1000.bin?query")]
    public async Task A_well_formed_request_is_answered(string fields)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, BlockOf(fields)));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    // RFC 9110 section 7.4.
    [Theory]
    [InlineData(false, 421)]
    [InlineData(true, 200)]
    public async Task An_https_resource_is_for_connections_that_are_secured_or_trusted(bool isTrusted, int status)
    {
        CarriesHttps = _ => isTrusted;
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, BlockOf(":method=GET|:scheme=https|:authority=a|:path=/f1000.bin")));
        Assert.Equal(status, (await client.ReadResponseAsync(1)).Status);
        await client.SendAsync(Frame.Headers(3, BlockOf(":method=HEAD|:scheme=HTTPS|:authority=a|:path=/f1000.bin")));
        Assert.Equal(status, (await client.ReadResponseAsync(3)).Status);
        Assert.Empty(client.Of(3).DataBytes);
        (await client.GetAsync(5, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Theory]
    [InlineData("a:99999", 400)]
    [InlineData("..a", 400)]
    [InlineData("u@a", 400)]
    [InlineData("", 200)]
    [InlineData(":80", 200)]
    public async Task An_authority_is_checked_as_a_Host_is_and_the_connection_goes_on(string authority, int status)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, BlockOf($":method=GET|:scheme=http|:authority={authority}|:path=/f1000.bin")));
        Assert.Equal(status, (await client.ReadResponseAsync(1)).Status);
        await client.SendAsync(Frame.Headers(3, BlockOf($":method=GET|:scheme=http|:path=/f1000.bin|host={authority}")));
        Assert.Equal(status, (await client.ReadResponseAsync(3)).Status);

        Wire wire = await Site.ConnectAsync();
        await wire.SendAsync($"GET /f1000.bin HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        Assert.Equal(status, (await wire.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData(9_000)]
    [InlineData(40_000)]
    public async Task A_method_that_is_too_long_is_answered_501(int bytes)
    {
        Http2Wire client = await OpenAsync();
        await SendInPiecesAsync(client, 1, Block.Request(new string('M', bytes), Small));
        Assert.Equal(501, (await client.ReadResponseAsync(1)).Status);
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_head_that_is_too_large_is_answered_431_and_the_connection_goes_on()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { HeadBytesMax = 16 * 1024 });
        byte[] block = Block.Get(Small, [.. Enumerable.Range(0, 10).Select(static i => $"x{i}: {new string('x', 1700)}")]);
        await client.SendAsync(
            Frame.Headers(1, block.AsSpan(0, 16_000), FrameFlags.EndStream), Frame.Continuation(1, block.AsSpan(16_000)));

        Assert.Equal(431, (await client.ReadResponseAsync(1)).Status);
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_path_that_is_too_long_is_answered_414()
    {
        Http2Wire client = await OpenAsync();

        Assert.Equal(414, (await client.GetAsync(1, "/" + new string('x', 10_000))).Status);
    }

    [Fact]
    public async Task HEAD_is_answered_by_fields_alone()
    {
        Http2Wire client = await OpenAsync();
        foreach ((int streamId, string path, int size) in ((int, string, int)[])[(1, Small, 1000), (3, Large, LargeBytes)])
        {
            await client.SendAsync(Frame.Headers(streamId, Block.Request("HEAD", path)));
            Response response = await client.ReadResponseAsync(streamId);
            Assert.Equal((200, $"{size}"), (response.Status, response.Field("content-length")));
            Assert.Empty(client.Of(streamId).DataBytes);
        }
    }

    [Theory]
    [InlineData(9_000, "x", 414)]
    [InlineData(40_000, "x", 414)]
    [InlineData(10, "long", 431)]
    public async Task HEAD_that_is_refused_is_answered_by_fields_alone(int pathBytes, string value, int status)
    {
        Http2Wire client = await OpenAsync();
        byte[] block = Block.Request(
            "HEAD", "/" + new string('x', pathBytes), $"x: {(value == "long" ? new string('x', 33_000) : value)}");
        await SendInPiecesAsync(client, 1, block);

        Response response = await client.ReadResponseAsync(1);
        Assert.Equal(status, response.Status);
        Assert.NotEqual("0", response.Field("content-length"));
        Assert.Empty(client.Of(1).DataBytes);
    }

    [Theory]
    [InlineData(":path")]
    [InlineData(":authority")]
    public async Task HEAD_that_is_refused_before_its_method_has_come_is_answered_by_fields_alone(string name)
    {
        Http2Wire client = await OpenAsync();
        await SendInPiecesAsync(client, 1, Block.Of((name, "/" + new string('x', 40_000)), (":method", "HEAD"), (":scheme", "http")));

        Assert.InRange((await client.ReadResponseAsync(1)).Status, 414, 431);
        Assert.Empty(client.Of(1).DataBytes);
    }

    [Fact]
    public async Task A_head_as_large_as_it_may_be_is_taken_in_as_many_frames_as_it_needs()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { HeadBytesMax = 256 * 1024 });
        await SendInPiecesAsync(client, 1, Block.Get(Small, $"x: {new string('x', 250 * 1024)}"));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_field_on_several_lines_may_fill_a_head_of_any_size()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { HeadBytesMax = 64 * 1024 });
        string tag = $"if-none-match: \"{new string('x', 17_000)}\"";
        await SendInPiecesAsync(client, 1, Block.Get(Small, tag, tag));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Responses_without_a_body_end_with_their_fields()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Request("OPTIONS", "*")), Frame.Headers(3, Block.Get(Small, "if-none-match: *")));

        Assert.Equal(204, (await client.ReadResponseAsync(1)).Status);
        Assert.Equal(304, (await client.ReadResponseAsync(3)).Status);
        Assert.Empty(client.Of(1).DataBytes);
        Assert.Empty(client.Of(3).DataBytes);
    }

    [Fact]
    public async Task Fields_of_responses_are_in_lower_case_and_none_is_of_HTTP_1()
    {
        Http2Wire client = await OpenAsync();
        await client.GetAsync(1, Small);
        await client.GetAsync(3, "/none");
        await client.GetAsync(5, Large, "range: bytes=1-2");
        foreach (int streamId in (int[])[1, 3, 5])
        {
            List<(string Name, string Value)> fields = client.Of(streamId).Fields;
            Assert.Equal(":status", fields[0].Name);
            Assert.All(fields, static field => Assert.Equal(field.Name.ToLowerInvariant(), field.Name));
            Assert.DoesNotContain(fields, static field => field.Name is "connection" or "keep-alive" or "transfer-encoding");
            Assert.Contains(fields, static field => field.Name == "date");
        }
    }

    [Fact]
    public async Task A_body_that_nobody_wants_is_dropped_and_its_window_given_back()
    {
        Http2Wire client = await OpenAsync();
        for (int streamId = 1; streamId < 20; streamId += 2)
        {
            await client.SendAsync(
                Frame.Headers(streamId, Block.Request("POST", "/none", "content-length: 30000"), FrameFlags.EndHeaders),
                Frame.Data(streamId, new byte[15_000], FrameFlags.None),
                Frame.Data(streamId, new byte[15_000]));
            Assert.Equal(405, (await client.ReadResponseAsync(streamId)).Status);
            await client.SettleAsync();
            Assert.Null(client.Of(streamId).Reset);
        }
    }

    [Fact]
    public async Task A_body_that_is_announced_too_large_is_answered_413_and_not_waited_for()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Get(Small, "content-length: 1000000"), FrameFlags.EndHeaders));
        await client.ReadAsync(1);
        await client.SettleAsync();

        Assert.Equal("413", client.Of(1).Fields[0].Value);
        Assert.Equal(Http2Error.NoError, client.Of(1).Reset);
    }

    [Fact]
    public async Task A_body_that_grows_too_large_is_given_up_after_the_response()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders));
        Assert.Equal(405, (await client.ReadResponseAsync(1)).Status);
        for (int i = 0; i < 5; i++)
        {
            await client.SendAsync(Frame.Data(1, new byte[14_000], FrameFlags.None));
        }

        Frame reset = await client.ReadUntilAsync(FrameType.RstStream);
        Assert.Equal(Http2Error.NoError, reset.Error);
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_request_that_was_given_up_is_not_checked_by_what_still_comes()
    {
        // The window of the response is shut, so that it is on its way when its request's body is not waited for any more.
        Http2Wire client = await OpenAsync(new HttpServerLimits { ReceiveStall = TimeSpan.FromSeconds(1) }, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large, "content-length: 10"), FrameFlags.EndHeaders));
        // Sleeps: a real reactor's clock measures the stall.
        await Task.Delay(TimeSpan.FromSeconds(4), TestContext.Current.CancellationToken);
        await client.SendAsync(
            Frame.Data(1, new byte[10]), Frame.WindowUpdate(0, LargeBytes), Frame.WindowUpdate(1, LargeBytes));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    [Fact]
    public async Task A_413_is_recorded_as_whole_though_the_body_still_comes()
    {
        Http2Wire client = await OpenAsync(opensWindows: false, settings: (SettingId.InitialWindowSize, 0u));
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Small, "content-length: 70000"), FrameFlags.EndHeaders),
            Frame.Data(1, new byte[16_384], FrameFlags.None));
        await client.SettleAsync();
        await client.SendAsync(Frame.WindowUpdate(1, 1000));
        await client.ReadUntilAsync(FrameType.RstStream, static frame => frame is { StreamId: 1, Error: Http2Error.NoError });

        Assert.True(client.Of(1).IsWhole);
        Assert.Equal("413", client.Of(1).Fields[0].Value);
    }

    [Theory]
    [InlineData("content-length: 3")]
    [InlineData("content-length: 1")]
    [InlineData("content-length: 0")]
    public async Task A_body_of_another_length_than_announced_is_malformed(string field)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Request("POST", "/none", field), FrameFlags.EndHeaders), Frame.Data(1, [1, 2]));
        await client.ReadUntilAsync(FrameType.RstStream, static frame => frame is { StreamId: 1, Error: Http2Error.ProtocolError });

        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Trailers_end_a_request()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/none", "content-length: 2"), FrameFlags.EndHeaders),
            Frame.Data(1, [1, 2], FrameFlags.None),
            Frame.Headers(1, Block.Of(("x-sum", "1"))));

        Assert.Equal(405, (await client.ReadResponseAsync(1)).Status);
        await client.SettleAsync();
        Assert.Null(client.Of(1).Reset);
    }

    [Theory]
    [InlineData("x=y", false)]
    [InlineData(":path=/", true)]
    [InlineData("X=y", true)]
    [InlineData("connection=close", true)]
    public async Task Trailers_that_are_none_are_malformed(string fields, bool isLast)
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders),
            Frame.Headers(1, BlockOf(fields), isLast ? FrameFlags.EndHeaders | FrameFlags.EndStream : FrameFlags.EndHeaders));

        await client.ReadUntilAsync(FrameType.RstStream, static frame => frame is { StreamId: 1, Error: Http2Error.ProtocolError });
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Unknown_methods_are_answered_and_CONNECT_is_no_request_for_a_file()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Request("BREW", Small)),
            Frame.Headers(3, Block.Of((":method", "CONNECT"), (":authority", "a:1"))));

        Assert.Equal(501, (await client.ReadResponseAsync(1)).Status);
        Assert.Equal(405, (await client.ReadResponseAsync(3)).Status);
    }

    [Fact]
    public async Task Several_ranges_come_as_parts()
    {
        Http2Wire client = await OpenAsync();
        byte[] large = SiteFolder.Bytes(LargeBytes);
        foreach ((int streamId, string path, byte[] bytes) in
            ((int, string, byte[])[])[(1, Large, large), (3, Small, SiteFolder.Bytes(1000))])
        {
            Response response = await client.GetAsync(streamId, path, "range: bytes=10-19,900-999");
            Assert.Equal(206, response.Status);
            Assert.StartsWith("multipart/byteranges; boundary=", response.Field("content-type"), StringComparison.Ordinal);
            Assert.Equal($"{response.Body.Length}", response.Field("content-length"));
            Assert.Contains(Encoding.Latin1.GetString(bytes, 10, 10), response.Text, StringComparison.Ordinal);
            Assert.Contains(Encoding.Latin1.GetString(bytes, 900, 100), response.Text, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Several_ranges_of_many_streams_at_once_do_not_wait_for_each_other()
    {
        Http2Wire client = await OpenAsync(settings: (SettingId.InitialWindowSize, 1u << 20));
        byte[] large = SiteFolder.Bytes(LargeBytes);
        int[] streams = [.. Enumerable.Range(0, 8).Select(static i => (2 * i) + 1)];
        string ranges = $"range: bytes=0-99,{LargeBytes - 100_000}-{LargeBytes - 1}";

        await client.SendAsync([.. streams.Select(id => Frame.Headers(id, Block.Get(Large, ranges)))]);

        foreach (int id in streams)
        {
            Response response = await client.ReadResponseAsync(id);
            Assert.Equal(206, response.Status);
            Assert.True(response.Body.AsSpan().IndexOf(large.AsSpan(LargeBytes - 100_000)) > 0, "not the second range");
        }
    }

    [Fact]
    public async Task Every_size_is_answered_whole_and_in_part()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site);
        int streamId = -1;
        foreach (int size in SiteFolder.Sizes)
        {
            byte[] bytes = SiteFolder.Bytes(size);
            (await client.GetAsync(streamId += 2, SiteFolder.Target(size))).AssertIsWhole(bytes);
            if (size > 1)
            {
                Response part = await client.GetAsync(streamId += 2, SiteFolder.Target(size), $"range: bytes=1-{size - 1}");
                Assert.Equal((206, $"bytes 1-{size - 1}/{size}"), (part.Status, part.Field("content-range")));
                Assert.Equal(bytes[1..], part.Body);
            }
        }
    }

    [Fact]
    public async Task A_client_that_has_ended_still_gets_what_it_asked_for()
    {
        Http2Wire client = await OpenAsync(settings: (SettingId.InitialWindowSize, 1u << 20));
        await client.SendAsync(Frame.WindowUpdate(0, 1 << 20), Frame.Headers(1, Block.Get(Large)), Frame.Headers(3, Block.Get(Small)));
        client.Wire.FinishSending();
        await client.ReadAsync(1);

        client.Of(1).ToResponse().AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        (await client.ReadAsync(3)).ToResponse().AssertIsWhole(SiteFolder.Bytes(1000));
        await client.Wire.AssertEndsAsync();
    }

    private static async Task SendInPiecesAsync(Http2Wire client, int streamId, byte[] block)
    {
        const int PieceBytesMax = 16_384;
        int first = Math.Min(block.Length, PieceBytesMax);
        bool isWhole = first == block.Length;
        await client.SendAsync(Frame.Headers(
            streamId, block.AsSpan(0, first), isWhole ? FrameFlags.EndHeaders | FrameFlags.EndStream : FrameFlags.EndStream));
        for (int at = first; at < block.Length; at += PieceBytesMax)
        {
            int bytes = Math.Min(PieceBytesMax, block.Length - at);
            bool isLast = at + bytes == block.Length;
            await client.SendAsync(Frame.Continuation(streamId, block.AsSpan(at, bytes), isLast ? FrameFlags.EndHeaders : FrameFlags.None));
        }
    }

    private static byte[] BlockOf(string fields) =>
        Block.Of([.. fields.Split('|').Select(static field => field.Split('=', 2)).Select(static parts => (parts[0], parts[1]))]);
}
