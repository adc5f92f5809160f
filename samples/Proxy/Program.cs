// A reverse proxy: every request goes on to UPSTREAM, and both bodies flow as they come. Clients' connections and those to the upstream
// are served by the same reactors. Try: UPSTREAM=http://127.0.0.1:8080 dotnet run, then curl -i http://127.0.0.1:5000/
using Microsoft.AspNetCore.Connections;
using Proxy;

var upstream = new Uri(Environment.GetEnvironmentVariable("UPSTREAM") ?? "http://127.0.0.1:8080");
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.WebHost.UseMillrace().ConfigureKestrel(static kestrel =>
{
    // Both are for the upstream to say.
    kestrel.AddServerHeader = false;
    kestrel.Limits.MaxRequestBodySize = null;
});
WebApplication app = builder.Build();
using var clients = new ReactorClients(app.Services.GetRequiredService<IConnectionFactory>());

app.Run(async context =>
{
    using HttpRequestMessage request = Forwarding.ToUpstream(context, upstream);
    try
    {
        using HttpResponseMessage response = await clients.Of(context).SendAsync(request, context.RequestAborted);
        await Forwarding.ToClientAsync(response, context);
    }
    catch (Exception error) when (error is HttpRequestException or IOException && !context.RequestAborted.IsCancellationRequested)
    {
        Console.Error.WriteLine($"{upstream}: {error.Message}");
        if (context.Response.HasStarted)
        {
            // A cut answer must not look whole.
            context.Abort();
            return;
        }

        context.Response.Clear();
        context.Response.StatusCode = StatusCodes.Status502BadGateway;
    }
    catch (OperationCanceledException) when (context.RequestAborted.IsCancellationRequested)
    {
        // The client is gone.
    }
});
app.Run();
