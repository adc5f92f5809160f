using System.Diagnostics.Metrics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.Engine;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// The first middleware of an application: has the connection know what it answers, in case that blocks, and counts where requests begin.
/// Some nanoseconds a request.
/// </summary>
internal sealed class RequestNotes : IStartupFilter, IDisposable
{
    private const string PlaceTag = "millrace.place";

    private static readonly KeyValuePair<string, object?> OnReactor = new(PlaceTag, "reactor");
    private static readonly KeyValuePair<string, object?> OffReactor = new(PlaceTag, "elsewhere");

    private readonly Meter _meter = new(EngineMeter.Name);
    private readonly Counter<long> _requests;

    public RequestNotes() => _requests = _meter.CreateCounter<long>(
        "millrace.requests", "{request}", "Requests, by where they began: on a reactor, or on another thread.");

    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => application =>
    {
        application.Use(inner => context => NoteAndInvoke(context, inner));
        next(application);
    };

    public void Dispose() => _meter.Dispose();

    private Task NoteAndInvoke(HttpContext context, RequestDelegate inner)
    {
        Reactor? reactor = Reactor.Current;
        if (reactor?.Occupant is TransportConnection connection)
        {
            connection.NoteRequest(context);
        }

        if (_requests.Enabled)
        {
            _requests.Add(1, reactor is null ? OffReactor : OnReactor);
        }

        return inner(context);
    }
}
