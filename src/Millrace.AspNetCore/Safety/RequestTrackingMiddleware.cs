using System.Diagnostics.Metrics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.Engine;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// The first middleware of an application: notes each request at its connection, for reports when it blocks; moves requests that might wait
/// for their bodies off the reactor; and counts where requests begin. Costs some nanoseconds per request.
/// </summary>
internal sealed class RequestTrackingMiddleware : IStartupFilter, IDisposable
{
    private const string LocationTag = "millrace.location";

    private static readonly KeyValuePair<string, object?> OnReactor = new(LocationTag, "reactor");
    private static readonly KeyValuePair<string, object?> OffReactor = new(LocationTag, "elsewhere");

    private readonly Meter _meter = new(EngineMeter.Name);
    private readonly Counter<long> _requests;
    private readonly BlockingPolicies _policies;

    public RequestTrackingMiddleware(BlockingPolicies policies)
    {
        _policies = policies;
        _requests = _meter.CreateCounter<long>(
            "millrace.requests", "{request}", "Requests, by where they began: on a reactor, or on another thread.");
    }

    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => application =>
    {
        application.Use(inner => context => NoteAndInvoke(context, inner));
        next(application);
    };

    public void Dispose() => _meter.Dispose();

    private Task NoteAndInvoke(HttpContext context, RequestDelegate inner)
    {
        Reactor? reactor = Reactor.Current;
        if (reactor?.CallbackOwner is CallbackOwner owner)
        {
            owner.NoteRequest(context);
            if (owner.MustLeave(context))
            {
                return LeaveAndInvokeAsync(context, inner);
            }
        }

        Count(reactor is null ? OffReactor : OnReactor);
        return _policies.IsAnyOff && reactor is not null ? InvokeByPolicy(context, inner) : inner(context);
    }

    private async Task LeaveAndInvokeAsync(HttpContext context, RequestDelegate inner)
    {
        await context.LeaveReactor();
        Count(OffReactor);
        await inner(context);
    }

    /// <summary>Runs a request on a reactor while the requests of some endpoints have to leave it.</summary>
    private Task InvokeByPolicy(HttpContext context, RequestDelegate inner)
    {
        if (_policies.WithoutEndpoint is { IsOffReactor: true } policy)
        {
            return _policies.RunOffReactorAsync(context, inner, policy);
        }

        context.Features.Set<IEndpointFeature>(new OffReactorEndpointFeature(_policies) { Endpoint = context.GetEndpoint() });
        return inner(context);
    }

    private void Count(KeyValuePair<string, object?> location)
    {
        if (_requests.Enabled)
        {
            _requests.Add(1, location);
        }
    }

    /// <summary>Replaces the endpoint chosen by routing with the variant that leaves the reactor, where its requests have to.</summary>
    private sealed class OffReactorEndpointFeature(BlockingPolicies policies) : IEndpointFeature
    {
        public Endpoint? Endpoint { get; set => field = value is null ? null : policies.EndpointFor(value); }
    }
}
