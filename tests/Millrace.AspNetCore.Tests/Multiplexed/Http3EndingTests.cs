using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>How requests and connections of HTTP/3 end before their time, and when the server stops.</summary>
public class Http3EndingTests
{
    [Theory]
    [InlineData(TransportKind.Millrace)]
    [InlineData(TransportKind.MillraceOnThePool)]
    internal async Task A_client_that_gives_a_request_up_cancels_it(TransportKind transport)
    {
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(
            async context =>
            {
                if (context.Request.Path == "/other")
                {
                    return;
                }

                await context.Response.Body.FlushAsync();
                await context.RequestAborted.CanceledAsync();
                aborted.SetResult();
            },
            transport: transport);
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        await stream.ReadHeadAsync();
        stream.StopSending();
        await aborted.Task.Within();
        Assert.Equal("200", (await client.GetAsync("/other")).Status);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Fact]
    public async Task A_client_that_resets_its_request_cancels_it()
    {
        var aborted = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            try
            {
                await context.Request.Body.CopyToAsync(Stream.Null);
            }
            catch (Exception error)
            {
                aborted.SetResult(error);
                throw;
            }
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/"), isEnd: false);
        await stream.ReadHeadAsync();
        stream.Abort();
        Assert.IsAssignableFrom<IOException>(await aborted.Task.Within());
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestCancelled, end.StreamCode);
    }

    [Fact]
    public async Task A_client_that_closes_its_connection_cancels_its_requests()
    {
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            await context.RequestAborted.CanceledAsync();
            aborted.SetResult();
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        await stream.ReadHeadAsync();
        client.Close();
        await aborted.Task.Within();
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory]
    [InlineData("/abort", Http3Codes.InternalError)]
    [InlineData("/reset", 0x1234)]
    [InlineData("/throw", Http3Codes.InternalError)]
    public async Task An_application_ends_a_response_with_a_code(string path, long code)
    {
        await using Http3Application application = await Http3Application.StartAsync(static async context =>
        {
            await context.Response.WriteAsync("begun");
            await context.Response.Body.FlushAsync();
            switch (context.Request.Path.Value)
            {
                case "/abort":
                    context.Abort();
                    break;
                case "/reset":
                    context.Features.Get<IHttpResetFeature>()!.Reset(0x1234);
                    break;
                default:
                    throw new InvalidOperationException("enough");
            }
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", path));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(code, end.StreamCode);
    }

    [Fact]
    public async Task A_handler_that_throws_before_its_response_gives_500()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static _ => throw new InvalidOperationException("enough"));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("500", (await client.GetAsync("/")).Status);
    }

    [Fact]
    public async Task Content_that_the_handler_does_not_read_is_stopped_and_the_response_is_whole()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("enough"));
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/"), isEnd: false);
        Http3TestResponse response = await stream.ReadResponseAsync();
        Assert.Equal("enough", response.Text());
        await stream.Stopped;
        Assert.Equal(Http3Codes.NoError, stream.StopCode);
        Assert.DoesNotContain(application.Log.AboveDebug, static entry => entry.Event.Name != "RequestBodyNotEntirelyRead");
    }

    [Fact]
    public async Task A_stop_lets_requests_end_and_says_so_before()
    {
        var go = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            await go.Task;
            await context.Response.Body.WriteAsync(new byte[300_000]);
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        await stream.ReadHeadAsync();
        Task stop = application.Application.StopAsync();
        await Waiting.UntilAsync(() => client.GoAways.Count > 0, () => "GOAWAY");
        await Assert.ThrowsAsync<Http3TestException>(() => application.ConnectAsync());
        go.SetResult();
        long received = 0;
        while (await stream.ReadDataAsync() is { } data)
        {
            received += data.Length;
        }

        Assert.Equal(300_000, received);
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
        await stop.Within();
        AssertGraceful(application);
        Assert.Empty(application.Log.AboveDebug);
    }

    /// <summary>Kestrel itself would wait for the client's next request.</summary>
    [Fact]
    public async Task A_stop_closes_a_connection_when_its_last_request_has_ended()
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var go = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(_ =>
        {
            begun.SetResult();
            return go.Task;
        });
        Http3TestConnection client = await application.ConnectAsync();
        Task<Http3TestResponse> response = client.GetAsync("/");
        await begun.Task.Within();
        Task stop = application.Application.StopAsync();
        await Waiting.UntilAsync(() => client.GoAways.Count > 0, () => "GOAWAY");
        go.SetResult();
        Assert.Equal("200", (await response).Status);
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
        await stop.Within();
        AssertGraceful(application);
    }

    [Fact]
    public async Task A_stop_closes_connections_without_requests()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("here"));
        Http3TestConnection client = await application.ConnectAsync();
        await client.GetAsync("/");
        await application.Application.StopAsync().Within();
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
        Assert.Equal(4, client.GoAways[^1]);
        AssertGraceful(application);
    }

    [Fact]
    public async Task A_stop_whose_time_is_over_aborts_what_is_left()
    {
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            await Task.Delay(Timeout.Infinite, context.RequestAborted);
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        await stream.ReadHeadAsync();
        await application.Application.StopAsync(TimeSpan.FromMilliseconds(200)).Within();
        Assert.Equal(CloseSource.Peer, (await client.Closed).Source);
    }

    [Fact]
    public async Task What_is_not_http3_closes_the_connection_with_its_code()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("here"));
        Http3TestConnection client = await application.ConnectAsync();
        await client.SendAsync(Http3Bytes.Settings());
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, Http3Codes.FrameUnexpected), (end.Source, end.Code));
    }

    [Fact]
    public async Task A_connection_that_is_idle_for_kestrels_limit_is_closed()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            limits: static limits => limits.KeepAliveTimeout = TimeSpan.FromSeconds(1));
        Http3TestConnection client = await application.ConnectAsync();
        await client.GetAsync("/");
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, Http3Codes.NoError), (end.Source, end.Code));
    }

    [Fact]
    public async Task More_connections_than_kestrel_allows_are_closed()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            limits: static limits => limits.MaxConcurrentConnections = 1);
        Http3TestConnection first = await application.ConnectAsync();
        Assert.Equal("here", (await first.GetAsync("/")).Text());
        Http3TestConnection second = await application.ConnectAsync();
        Assert.Equal(CloseSource.Peer, (await second.Closed).Source);
        Assert.Equal("here", (await first.GetAsync("/")).Text());
    }

    [Fact]
    public async Task Requests_reset_before_they_are_served_end_the_connection_at_last()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("here"));
        Http3TestConnection client = await application.ConnectAsync();
        await client.GetAsync("/");
        for (int i = 0; i < 5_000 && !client.HasClosed; i++)
        {
            try
            {
                Http3TestStream stream = await client.OpenAsync();
                stream.Abort();
                stream.StopSending();
            }
            catch (Http3TestException)
            {
                break;
            }
        }

        Http3TestConnection other = await application.ConnectAsync();
        Assert.Equal("here", (await other.GetAsync("/")).Text());
    }

    /// <summary>The host's time for a stop was not used up.</summary>
    private static void AssertGraceful(Http3Application application) =>
        Assert.False(application.Log.Has("NotAllConnectionsClosedGracefully"));
}
