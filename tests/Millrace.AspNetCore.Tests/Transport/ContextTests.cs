using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Handlers that ask to return to their reactor after each await, and those that did not.</summary>
public class ContextTests
{
    [Theory]
    [InlineData(true, "0,0,0,0")]
    [InlineData(false, "0,-1,-1,-1")]
    public async Task A_handler_returns_to_its_reactor_after_each_await_where_that_was_asked_for(bool usesContext, string expected)
    {
        await using RunningApplication application = await StartAsync(usesContext, async context =>
        {
            var places = new List<int> { Where() };
            await Task.Delay(1).ConfigureAwait(ConfigureAwaitOptions.ForceYielding | ConfigureAwaitOptions.ContinueOnCapturedContext);
            places.Add(Where());
            await Task.Run(static () => Thread.Yield());
            places.Add(Where());
            await Task.Yield();
            places.Add(Where());
            await ResponseAsync(context, places);
        });
        using RawClient client = await ConnectAsync(application);
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal(expected, (await client.GetAsync("/")).Body);
        }
    }

    [Fact]
    public async Task ConfigureAwait_keeps_a_handler_from_returning()
    {
        await using RunningApplication application = await StartAsync(usesContext: true, static async context =>
        {
            var places = new List<int> { Where() };
            await Task.Delay(1).ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            places.Add(Where());
            await ResponseAsync(context, places);
        });
        using RawClient client = await ConnectAsync(application);
        Assert.Equal("0,-1", (await client.GetAsync("/")).Body);
        Assert.Equal("0,-1", (await client.GetAsync("/")).Body);
    }

    [Fact]
    public async Task Who_has_left_stays_away_until_the_next_request()
    {
        await using RunningApplication application = await StartAsync(usesContext: true, static async context =>
        {
            var places = new List<int> { Where() };
            await context.LeaveReactor();
            places.Add(Where());
            await Task.Delay(1);
            places.Add(Where());
            await ResponseAsync(context, places);
        });
        using RawClient client = await ConnectAsync(application);
        Assert.Equal("0,-1,-1", (await client.GetAsync("/")).Body);
        Assert.Equal("0,-1,-1", (await client.GetAsync("/")).Body);
    }

    [Fact]
    [SuppressMessage("Usage", "xUnit1031", Justification = "A handler that blocks is what this is about.")]
    public async Task Who_blocks_on_his_own_async_method_goes_on_by_the_watch()
    {
        await using RunningApplication application = await StartAsync(usesContext: true, static context =>
        {
            DelayAsync().Wait();
            return ResponseAsync(context, [Where()]);

            static async Task DelayAsync() => await Task.Delay(1);
        });
        using RawClient client = await ConnectAsync(application);
        Assert.Equal("0", (await client.GetAsync("/").Within()).Body);
    }

    [Fact]
    public async Task A_context_is_the_connections_own_and_none_is_left_on_the_reactor()
    {
        await using RunningApplication application = await StartAsync(usesContext: true, static context =>
        {
            Reactor.Current!.Post(
                static seen => ((TaskCompletionSource<SynchronizationContext?>)seen!).TrySetResult(SynchronizationContext.Current), Left);
            return context.Response.WriteAsync(SynchronizationContext.Current!.GetHashCode().ToString(CultureInfo.InvariantCulture));
        });
        using RawClient client = await ConnectAsync(application);
        using RawClient other = await ConnectAsync(application);
        string mine = (await client.GetAsync("/")).Body;
        Assert.Equal(mine, (await client.GetAsync("/")).Body);
        Assert.NotEqual(mine, (await other.GetAsync("/")).Body);
        Assert.Null(await Left.Task.Within());
    }

    private static readonly TaskCompletionSource<SynchronizationContext?> Left = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private static int Where() => Reactor.Current?.Index ?? -1;

    private static Task ResponseAsync(HttpContext context, List<int> places) =>
        context.Response.WriteAsync(string.Join(',', places.Select(static place => place.ToString(CultureInfo.InvariantCulture))));

    private static Task<RunningApplication> StartAsync(bool usesContext, RequestDelegate handler) => RunningApplication.StartAsync(
        TransportKind.Millrace,
        static _ => Task.CompletedTask,
        host: host => host.ConfigureServices(services =>
        {
            services.AddRouting();
            services.Configure<MillraceTransportOptions>(options =>
            {
                options.ReactorCount = 1;
                options.UseSynchronizationContext = usesContext;
            });
        }),
        routes: routes =>
        {
            routes.MapGet("/", handler);
            routes.MapGet("/where", static context => context.Response.WriteAsync(Where().ToString(CultureInfo.InvariantCulture)));
        });

    /// <summary>The first request runs on the thread pool where it is there before Kestrel looks.</summary>
    private static async Task<RawClient> ConnectAsync(RunningApplication application)
    {
        RawClient client = await application.ConnectAsync();
        await client.GetAsync("/where");
        Assert.Equal("0", (await client.GetAsync("/where")).Body);
        return client;
    }
}
