using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Unidirectional streams and the frames of the control stream (RFC 9114, sections 6.2 and 7.2).</summary>
public class ControlStreamTests : Http3Test
{
    private static readonly Http3TestOptions Bare = new() { OpensStreams = false };

    /// <summary>3 and 7 are the server's, for control and its decoder; 2, 6 and 10 are the client's.</summary>
    private static readonly long[] Streams = [3, 7, 2, 6, 10];

    private static readonly byte[] ControlType = Http3Bytes.Number(Http3Bytes.ControlStream);

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task The_server_opens_its_streams_and_says_its_settings()
    {
        Http3TestConnection client = await OpenAsync();
        IReadOnlyList<(long Id, long Value)> settings = await client.ServerSettings;
        Assert.Contains((Http3Bytes.TableCapacitySetting, 4096), settings);
        Assert.Contains((Http3Bytes.BlockedStreamsSetting, 16), settings);
        Assert.Contains(settings, static setting => setting.Id == Http3Bytes.FieldSectionSizeSetting);
        Assert.DoesNotContain(settings, static setting => setting.Id == Http3Bytes.ExtendedConnectSetting);
        await AssertServesAsync(client);
        Assert.Contains(Http3Bytes.ControlStream, client.StreamTypes);
        Assert.Contains(Http3Bytes.DecoderStream, client.StreamTypes);
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    [Trait("Rfc", "9204-4.2")]
    public async Task The_servers_streams_stay_open_and_it_does_not_refuse_the_clients()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Encoder!.WriteAsync((byte[])[.. QpackFields.Capacity(4096), .. QpackFields.Insert("a", "b")]);
        await client.Control!.WriteAsync((byte[])[.. Http3Bytes.MaxPushId(3), .. Http3Bytes.GoAway(0), .. Http3Bytes.Grease()]);
        await AssertServesAsync(client);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        Assert.NotNull(await stream.ReadHeadAsync());
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromSeconds(30));
        await GoAwaysAsync(client, 2);
        Assert.Equal(
            Streams.Select(static id => (id, true)),
            await client.InspectAsync(static quic => Streams.Select(id => (id, IsWhole(quic, id))).ToList()));
        Assert.Equal([Http3Bytes.ControlStream, Http3Bytes.DecoderStream], client.StreamTypes);
        while (await stream.ReadDataAsync() is not null)
        {
        }

        await AssertFailsAsync(client, Http3Codes.NoError);
        await stopping;

        static bool IsWhole(QuicConnection quic, long id) => quic.Streams.Find(id) is { } one
            && (one.IsPeers ? !one.IsReadToEnd : one.Send is { StopSendingCode: 0, IsWritable: true });
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.4")]
    [Trait("Rfc", "9114-7.2.4.2")]
    public async Task Settings_wait_for_nothing_and_come_first_and_once()
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        IReadOnlyList<(long Id, long Value)> settings = await client.ServerSettings;
        Assert.Equal(settings.Count, settings.DistinctBy(static setting => setting.Id).Count());
        Assert.DoesNotContain(settings, static setting => setting.Id is >= 0x02 and <= 0x05);
        await AssertServesAsync(client);
        Task stopping = Endpoint.Listener.StopAsync(TimeSpan.FromSeconds(30));
        await GoAwaysAsync(client, 2);
        Assert.Equal(
            [Http3Bytes.SettingsType, Http3Bytes.GoAwayType, Http3Bytes.GoAwayType],
            client.ControlFrames.Select(static frame => frame.Type));
        await stopping;
    }

    [Fact]
    [Trait("Rfc", "9114-6.2")]
    public async Task A_stream_may_end_or_be_reset_before_its_type()
    {
        Http3TestConnection client = await OpenAsync();
        byte[] half = [0x40];
        await client.SendAsync(half, isBidirectional: false);
        foreach (byte[] bytes in (byte[][])[[], half])
        {
            Http3TestStream stream = await client.SendAsync(bytes, isEnd: false, isBidirectional: false);
            stream.Abort();
            await stream.Closed;
        }

        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-3.2")]
    public async Task Requests_need_not_wait_for_settings()
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        await AssertServesAsync(client);
        await client.SendAsync((byte[])[.. ControlType, .. Http3Bytes.Settings()], isEnd: false, isBidirectional: false);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task A_control_stream_may_come_byte_by_byte()
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        byte[] bytes =
        [
            .. Http3Bytes.Number(Http3Bytes.ControlStream, 8), .. Http3Bytes.Settings((0x21, 9), (Http3Bytes.TableCapacitySetting, 100)),
            .. Http3Bytes.Grease(), .. Http3Bytes.MaxPushId(3), .. Http3Bytes.PriorityUpdate(0, "u=1, i"), .. Http3Bytes.GoAway(1),
        ];
        Http3TestStream control = await client.OpenAsync(isBidirectional: false);
        foreach (byte one in bytes)
        {
            await control.WriteAsync(new[] { one });
            await client.InspectAsync(static quic => quic.Streams.Count);
        }

        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-9")]
    public async Task Streams_of_unknown_types_are_not_read()
    {
        Http3TestConnection client = await OpenAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Number(0x21 + (0x1F * 99)), isEnd: false, isBidirectional: false);
        await stream.Stopped;
        Assert.Equal(Http3Codes.StreamCreationError, stream.StopCode);
        await client.SendAsync((byte[])[.. Http3Bytes.Number(0x21), 1, 2, 3], isBidirectional: false);
        await client.SendAsync(default, isBidirectional: false);
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.2")]
    public Task A_client_cannot_push() => AssertFailsOnStreamAsync(Http3Codes.StreamCreationError, Http3Bytes.Number(Http3Bytes.PushStream));

    [Theory]
    [Trait("Rfc", "9114-6.2.1")]
    [Trait("Rfc", "9204-4.2")]
    [InlineData(Http3Bytes.ControlStream)]
    [InlineData(Http3Bytes.EncoderStream)]
    [InlineData(Http3Bytes.DecoderStream)]
    public Task There_is_one_stream_of_each_type(long type) =>
        AssertFailsOnStreamAsync(Http3Codes.StreamCreationError, Http3Bytes.Number(type));

    [Theory]
    [Trait("Rfc", "9114-6.2.1")]
    [InlineData(Http3Bytes.ControlStream, true)]
    [InlineData(Http3Bytes.EncoderStream, true)]
    [InlineData(Http3Bytes.DecoderStream, true)]
    [InlineData(Http3Bytes.ControlStream, false)]
    [InlineData(Http3Bytes.EncoderStream, false)]
    [InlineData(Http3Bytes.DecoderStream, false)]
    public async Task A_stream_that_the_connection_needs_must_not_end(long type, bool inOrder)
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        byte[] bytes = [.. Http3Bytes.Number(type), .. type == Http3Bytes.ControlStream ? Http3Bytes.Settings() : []];
        Http3TestStream stream = await client.SendAsync(bytes, isEnd: inOrder, isBidirectional: false);
        if (!inOrder)
        {
            await AssertServesAsync(client);
            stream.Abort();
        }

        await AssertFailsAsync(client, Http3Codes.ClosedCriticalStream);
    }

    [Fact]
    [Trait("Rfc", "9114-6.2.1")]
    public async Task Nor_may_the_servers_be_refused()
    {
        Http3TestConnection client = await OpenAsync();
        await client.ServerSettings;
        await client.InspectAsync(static quic =>
        {
            quic.Streams.Find(3)!.StopSending(Http3Codes.NoError);
            return true;
        });
        await AssertFailsAsync(client, Http3Codes.ClosedCriticalStream);
    }

    [Theory]
    [Trait("Rfc", "9114-6.2.1")]
    [InlineData(Http3Bytes.GoAwayType)]
    [InlineData(Http3Bytes.DataType)]
    [InlineData(0x21)]
    public async Task The_first_frame_is_SETTINGS(long type)
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        await client.SendAsync((byte[])[.. ControlType, .. Http3Bytes.Frame(type, 0)], isEnd: false, isBidirectional: false);
        await AssertFailsAsync(client, Http3Codes.MissingSettings);
    }

    [Theory]
    [Trait("Rfc", "9114-7.2")]
    [InlineData(Http3Bytes.DataType)]
    [InlineData(Http3Bytes.HeadersType)]
    [InlineData(Http3Bytes.PushPromiseType)]
    [InlineData(Http3Bytes.SettingsType)]
    [InlineData(0x02)]
    [InlineData(0x06)]
    [InlineData(0x08)]
    [InlineData(0x09)]
    public Task Some_frames_do_not_belong_on_the_control_stream(long type) =>
        AssertFailsOnControlAsync(Http3Codes.FrameUnexpected, Http3Bytes.Frame(type, 0));

    [Theory]
    [Trait("Rfc", "9114-7.2.4.1")]
    [InlineData(0x02, 0x77)]
    [InlineData(0x03, 0x77)]
    [InlineData(0x04, 0x77)]
    [InlineData(0x05, 0x77)]
    [InlineData(Http3Bytes.TableCapacitySetting, Http3Bytes.TableCapacitySetting)]
    [InlineData(Http3Bytes.ExtendedConnectSetting, 0x77)]
    public async Task Settings_must_be_valid(long id, long other)
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        byte[] bytes = [.. ControlType, .. Http3Bytes.Settings((other, 5), (id, 5))];
        await client.SendAsync(bytes, isEnd: false, isBidirectional: false);
        await AssertFailsAsync(client, Http3Codes.SettingsError);
    }

    [Fact]
    [Trait("Rfc", "9114-7.1")]
    public async Task Settings_must_be_whole()
    {
        Http3TestConnection client = await OpenAsync(options: Bare);
        byte[] bytes = [.. ControlType, .. Http3Bytes.Frame(Http3Bytes.SettingsType, 1)];
        await client.SendAsync(bytes, isEnd: false, isBidirectional: false);
        await AssertFailsAsync(client, Http3Codes.FrameError);
    }

    [Fact]
    [Trait("Rfc", "9114-7.2.3")]
    public Task What_was_never_pushed_cannot_be_cancelled() =>
        AssertFailsOnControlAsync(Http3Codes.IdError, [.. Http3Bytes.MaxPushId(9), .. Http3Bytes.CancelPush(0)]);

    [Fact]
    [Trait("Rfc", "9114-7.2.7")]
    public Task Pushes_are_not_allowed_less_than_before() =>
        AssertFailsOnControlAsync(Http3Codes.IdError, [.. Http3Bytes.MaxPushId(9), .. Http3Bytes.MaxPushId(8)]);

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public Task The_end_does_not_move_back() =>
        AssertFailsOnControlAsync(Http3Codes.IdError, [.. Http3Bytes.GoAway(4), .. Http3Bytes.GoAway(8)]);

    [Theory]
    [Trait("Rfc", "9218-7.2")]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(100 * 4)]
    public Task Only_requests_that_can_be_have_priorities(long streamId) =>
        AssertFailsOnControlAsync(Http3Codes.IdError, Http3Bytes.PriorityUpdate(streamId, "u=1"));

    [Fact]
    [Trait("Rfc", "9114-5.2")]
    public async Task A_client_that_goes_away_is_served_on()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Control!.WriteAsync(Http3Bytes.GoAway(0));
        await AssertServesAsync(client);
    }

    [Fact]
    [Trait("Rfc", "9218-7.2")]
    public async Task Priorities_of_requests_before_and_after_them_are_taken()
    {
        Http3TestConnection client = await OpenAsync();
        await client.Control!.WriteAsync((byte[])[.. Http3Bytes.PriorityUpdate(0, "u=7, i"), .. Http3Bytes.PriorityUpdate(396, "u=0")]);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", Large));
        Assert.NotNull(await stream.ReadHeadAsync());
        await client.Control.WriteAsync(Http3Bytes.PriorityUpdate(0, "u=2"));
        int bytes = 0;
        while (await stream.ReadDataAsync() is { } data)
        {
            bytes += data.Length;
        }

        Assert.Equal(LargeBytes, bytes);
    }

    private async Task AssertFailsOnStreamAsync(long code, byte[] bytes)
    {
        Http3TestConnection client = await OpenAsync();
        await client.SendAsync(bytes, isEnd: false, isBidirectional: false);
        await AssertFailsAsync(client, code);
    }

    private async Task AssertFailsOnControlAsync(long code, byte[] frames)
    {
        Http3TestConnection client = await OpenAsync();
        await client.Control!.WriteAsync(frames);
        await AssertFailsAsync(client, code);
    }
}
