using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.IoUring;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>How the transport comes into an application, beside the one that is there.</summary>
public class RegistrationTests : TransportTest
{
    [Theory]
    [InlineData("after")]
    [InlineData("before")]
    [InlineData("twice")]
    public void It_is_asked_before_the_sockets_transport_which_stays(string order)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        if (order == "after")
        {
            builder.WebHost.UseKestrelCore();
        }

        builder.WebHost.UseMillrace();
        if (order == "twice")
        {
            builder.Services.AddMillraceTransport();
        }

        if (order != "after")
        {
            builder.WebHost.UseKestrelCore();
        }

        Assert.Equal(
            [typeof(SocketTransportFactory), typeof(MillraceTransportFactory)],
            builder.Services.Where(static service => service.ServiceType == typeof(IConnectionListenerFactory))
                .Select(static service => service.ImplementationType));
    }

    [Fact]
    public async Task An_application_is_served_by_it_and_ends_with_either_kind_of_disposal()
    {
        foreach (bool synchronously in (bool[])[false, true])
        {
            WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0").UseMillrace(options => options.Backend = AskedBackend.Kind);
            WebApplication application = builder.Build();
            application.MapGet("/", static () => Thread.CurrentThread.Name);
            await application.StartAsync().Within();
            using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(30) };
            Assert.StartsWith("millrace-", await client.GetStringAsync(new Uri(application.Urls.Single())), StringComparison.Ordinal);
            await application.StopAsync().Within();
            if (synchronously)
            {
                ((IDisposable)application).Dispose();
            }
            else
            {
                await application.DisposeAsync().AsTask().Within();
            }
        }
    }

    [Fact]
    public void What_it_cannot_serve_it_leaves_with_one_warning_that_says_why_and_what_to_do()
    {
        Assert.False(Factory.CanBind(new NamedPipeLikeEndPoint()));
        Assert.False(Factory.CanBind(new NamedPipeLikeEndPoint()));
        Assert.True(Factory.CanBind(AnyPort));
        Assert.True(Factory.CanBind(new System.Net.Sockets.UnixDomainSocketEndPoint("s")));
        Assert.True(Factory.CanBind(new FileHandleEndPoint(3, FileHandleType.Auto)));
        (LogLevel level, EventId id, string text) = Assert.Single(Logs.Entries);
        Assert.Equal((LogLevel.Warning, 100), (level, id.Id));
        Assert.Contains(nameof(NamedPipeLikeEndPoint), text, StringComparison.Ordinal);
        Assert.Contains("unix socket", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_io_uring_is_asked_for_and_refused_the_sockets_transport_serves()
    {
        Options.Backend = BackendKind.IoUring;
        IoUringRefusal? refusal = BackendProbe.Current.Refusal;
        Assert.Equal(refusal is null, Factory.CanBind(AnyPort));
        Assert.Equal(refusal is null ? 0 : 1, Logs.Entries.Count);
        Assert.All(Logs.Entries, entry => Assert.Contains(refusal!.Remedy, entry.Text, StringComparison.Ordinal));

        Options.Backend = BackendKind.Auto;
        Assert.True(Factory.CanBind(AnyPort));
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await connection.Transport.Output.WriteAsync("x".Ascii()).Within();
        Assert.Equal("x", await peer.ReceiveAsync(1));
    }

    [Fact]
    public async Task All_addresses_share_the_reactors()
    {
        Options.ReactorCount = 2;
        await BindAsync();
        ReactorGroup group = await Factory.Reactors.StartedAsync(CancellationToken.None);
        await BindAsync();
        Assert.Same(group, await Factory.Reactors.StartedAsync(CancellationToken.None));
        Assert.Equal(2, group.Reactors.Count);
    }

    [Fact]
    public async Task Reactors_that_were_given_outlive_the_server()
    {
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 1 }.ForRun());
        Options.ReactorGroup = group;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await peer.SendAsync("x");
        await connection.Transport.Input.ReadAsync().Within();
        await connection.DisposeAsync().AsTask().Within();
        await Listeners[0].DisposeAsync().AsTask().Within();
        await Factory.DisposeAsync().AsTask().Within();
        Assert.False(group.Reactors[0].HasEnded);
        await using Stopping still = new(await group.ListenAsync(AnyPort, static _ => Task.CompletedTask));
    }

    [Theory]
    [InlineData(0, 1, 1)]
    [InlineData(1, -1, 1)]
    [InlineData(1, 1, -1)]
    public async Task An_option_out_of_its_range_is_refused(int backlog, long readBytes, long writeBytes)
    {
        (Options.Backlog, Options.MaxReadBufferSize, Options.MaxWriteBufferSize) = (backlog, readBytes, writeBytes);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => BindAsync());
    }

    private sealed class Stopping(Listener listener) : IAsyncDisposable
    {
        public ValueTask DisposeAsync() => new(listener.StopAsync());
    }

    private sealed class NamedPipeLikeEndPoint : EndPoint;
}
