using System.IO.Pipelines;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed;

#pragma warning disable CA2252 // Kestrel's WebTransport is a preview; it has to work over this transport where applications choose it.

/// <summary>Kestrel's WebTransport (draft-ietf-webtrans-http3-02), by frames that the test makes.</summary>
public class WebTransportTests
{
    private const string Switch = "Microsoft.AspNetCore.Server.Kestrel.Experimental.WebTransportAndH3Datagrams";

    private const long WebTransportSetting = 0x2b603742;
    private const long DatagramSetting = 0xffd277;

    /// <summary>What a stream of a session begins with.</summary>
    private const long BidirectionalStream = 0x41;
    private const long UnidirectionalStream = 0x54;

    private static readonly (string, string)[] Connect =
    [
        (":method", "CONNECT"), (":protocol", "webtransport"), (":scheme", "https"), (":authority", "localhost"), (":path", "/session"),
        ("sec-webtransport-http3-draft02", "1"),
    ];

    [Fact]
    public async Task A_stream_of_the_client_carries_bytes_both_ways()
    {
        await using Http3Application application = await StartAsync(static async session =>
        {
            ConnectionContext stream = (await session.AcceptStreamAsync(CancellationToken.None))!;
            await EchoAsync(stream.Transport.Input, stream.Transport.Output);
        });
        (Http3TestConnection client, Http3TestStream session) = await BeginAsync(application);
        Http3TestStream stream = await client.SendAsync(
            (byte[])[.. Http3Bytes.Number(BidirectionalStream), .. Http3Bytes.Number(session.Id), .. "hello"u8], isEnd: false);
        Assert.Equal("hello", await ReadAsync(stream, 5));
        await stream.WriteAsync("again"u8.ToArray(), isEnd: true);
        Assert.Equal("again", Encoding.ASCII.GetString(await stream.ReadToEndAsync()));

        // The application has ended the request of the session, whose rest it does not want (RFC 9114, section 4.1).
        await session.Stopped;
        Assert.Equal(Http3Codes.NoError, session.StopCode);
    }

    /// <summary>Without the stream's end: Kestrel disposes of its object then, perhaps before the application has read.</summary>
    [Fact]
    public async Task A_stream_of_one_direction_reaches_the_application()
    {
        var received = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await StartAsync(async session =>
        {
            ConnectionContext stream = (await session.AcceptStreamAsync(CancellationToken.None))!;
            IStreamDirectionFeature direction = stream.Features.Get<IStreamDirectionFeature>()!;
            ReadResult read = await stream.Transport.Input.ReadAtLeastAsync(5);
            received.SetResult($"{direction.CanRead} {direction.CanWrite} {Encoding.ASCII.GetString(read.Buffer)}");
        });
        (Http3TestConnection client, Http3TestStream session) = await BeginAsync(application);
        await client.SendAsync(
            (byte[])[.. Http3Bytes.Number(UnidirectionalStream), .. Http3Bytes.Number(session.Id), .. "hello"u8],
            isEnd: false, isBidirectional: false);
        Assert.Equal("True False hello", await received.Task.Within());
    }

    [Fact]
    public async Task The_application_opens_a_stream()
    {
        await using Http3Application application = await StartAsync(static async session =>
        {
            ConnectionContext stream = (await session.OpenUnidirectionalStreamAsync(CancellationToken.None))!;
            await stream.Transport.Output.WriteAsync("hello"u8.ToArray());
            await Task.Delay(Timeout.Infinite, stream.ConnectionClosed).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        });
        (Http3TestConnection client, _) = await BeginAsync(application);
        await Waiting.UntilAsync(() => client.StreamTypes.Contains(UnidirectionalStream), () => "a stream of the session");
        client.Close();
    }

    [Fact]
    public async Task A_session_ends_with_its_connection()
    {
        var ended = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await StartAsync(async session =>
            ended.SetResult(await session.AcceptStreamAsync(CancellationToken.None) is null));
        (Http3TestConnection client, _) = await BeginAsync(application);
        client.Close();
        Assert.True(await ended.Task.Within());
    }

    /// <summary>The switch is read when options are made, once for each server.</summary>
    private static async Task<Http3Application> StartAsync(Func<IWebTransportSession, Task> serve)
    {
        AppContext.SetSwitch(Switch, true);
        return await Http3Application.StartAsync(async context =>
        {
            IHttpWebTransportFeature feature = context.Features.Get<IHttpWebTransportFeature>()!;
            if (feature.IsWebTransportRequest)
            {
                await serve(await feature.AcceptAsync(CancellationToken.None));
            }
        });
    }

    private static async Task<(Http3TestConnection Client, Http3TestStream Session)> BeginAsync(Http3Application application)
    {
        Http3TestConnection client = await application.ConnectAsync(
            new Http3TestOptions { Settings = [(WebTransportSetting, 1), (DatagramSetting, 1)] });

        // Kestrel has read the settings when it answers.
        Assert.Equal("200", (await client.GetAsync("/")).Status);
        Assert.Contains((WebTransportSetting, 1L), await client.ServerSettings);
        Http3TestStream session = await client.SendAsync(Http3Bytes.Headers(Connect), isEnd: false);
        Assert.Contains((":status", "200"), (await session.ReadHeadAsync())!);
        return (client, session);
    }

    private static async Task EchoAsync(PipeReader input, PipeWriter output)
    {
        ReadResult read;
        do
        {
            read = await input.ReadAsync();
            foreach (ReadOnlyMemory<byte> piece in read.Buffer)
            {
                await output.WriteAsync(piece);
            }

            input.AdvanceTo(read.Buffer.End);
        }
        while (!read.IsCompleted);
        await output.CompleteAsync();
    }

    private static async Task<string> ReadAsync(Http3TestStream stream, int count)
    {
        byte[] bytes = new byte[count];
        int read = 0;
        while (read < count)
        {
            int more = await stream.ReadAsync(bytes.AsMemory(read));
            Assert.True(more > 0);
            read += more;
        }

        return Encoding.ASCII.GetString(bytes);
    }
}
#pragma warning restore CA2252
