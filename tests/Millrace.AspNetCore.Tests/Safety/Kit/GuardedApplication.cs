using System.Globalization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Safety.Kit;

/// <summary>
/// An application whose routes may block. <c>/where</c> responds with the reactor's number, or -1 elsewhere.
/// </summary>
internal sealed class GuardedApplication : IAsyncDisposable
{
    private GuardedApplication(RunningApplication application, ReactorGroup group)
    {
        Application = application;
        Group = group;
    }

    public RunningApplication Application { get; }

    public ReactorGroup Group { get; }

    public static async Task<GuardedApplication> StartAsync(
        int reactors,
        Action<WebApplication> routes,
        bool isWatched = true,
        bool usesContext = false,
        Action<IServiceCollection>? services = null)
    {
        RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            static _ => Task.CompletedTask,
            // It gives a body that does not come five seconds, and so does the watch a handler that blocks.
            static limits => limits.MinRequestBodyDataRate = null,
            host: host => host.ConfigureServices(all =>
            {
                services?.Invoke(all);
                all.AddRouting();
                all.Configure<MillraceTransportOptions>(options =>
                {
                    options.ReactorCount = reactors;
                    options.WatchForStalls = isWatched;
                    options.UseSynchronizationContext = usesContext;
                });
            }),
            routes: each =>
            {
                each.MapGet("/where", static context => context.Response.WriteAsync(Where()));
                routes(each);
            });
        MillraceTransportFactory factory =
            application.Services.GetServices<IConnectionListenerFactory>().OfType<MillraceTransportFactory>().Single();
        return new GuardedApplication(application, await factory.Reactors.StartedAsync(TestContext.Current.CancellationToken));
    }

    public static string Where() => (Reactor.Current?.Index ?? -1).ToString(CultureInfo.InvariantCulture);

    /// <summary>One wait on the first reactor was made to fail, and no more. It is counted after the failure.</summary>
    public async Task ExpectWaitFailedAsync()
    {
        await Waiting.UntilAsync(() => Group.Reactors[0].Counters.WaitsFailed > 0, static () => "No wait was failed.");
        Assert.Equal(1, Group.Reactors[0].Counters.WaitsFailed);
    }

    /// <summary>A connection that is served by that reactor; the kernel picks one by the ports.</summary>
    public async Task<RawClient> ConnectAsync(int reactor)
    {
        string wanted = reactor.ToString(CultureInfo.InvariantCulture);
        for (int i = 0; i < 200; i++)
        {
            RawClient client = await Application.ConnectAsync();
            // The first request runs on the thread pool where it is there before Kestrel looks.
            await client.GetAsync("/where");
            if ((await client.GetAsync("/where")).Body == wanted)
            {
                return client;
            }

            client.Dispose();
        }

        throw new InvalidOperationException($"Of 200 connections none was given to reactor {reactor}.");
    }

    public ValueTask DisposeAsync() => Application.DisposeAsync();
}
