using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// Registers the objects that serve all HTTP/1.1 requests of a connection for the reactor's prefetch (ADR 0009); they are available with
/// the first request. Reactor thread; an HTTP/2 request never runs on it.
/// </summary>
internal sealed class RequestPrefetch(
    TransportConnection owner, Connection connection, ReactorPipeReader reader, TransportEnding ending)
{
    /// <summary>Hash of the first request's context, to which no reference is kept; 0 before the first request.</summary>
    private int _firstContextHash;
    private bool _isDone;

    /// <summary>Called for each request; the first two are looked at.</summary>
    public void Note(HttpContext context)
    {
        // An application may continue after the connection has ended, when the engine's connection belongs to another peer.
        if (_isDone || ending.IsOver)
        {
            return;
        }

        int hash = RuntimeHelpers.GetHashCode(context);
        if (_firstContextHash == 0)
        {
            // A continuation of this connection may belong to another connection's request.
            if (context.Features.Get<IReactorFeature>() == owner)
            {
                AddParts(context.Features);
                _firstContextHash = hash;
            }

            return;
        }

        // Registered only if one context serves all requests: Kestrel creates a new one for each where the application may keep it
        // (IHttpContextAccessor).
        if (hash == _firstContextHash)
        {
            Add(context, PrefetchRanges.HttpContext);
        }

        _isDone = true;
    }

    /// <summary>Registers Kestrel's own objects, even if the application has replaced features.</summary>
    private void AddParts(IFeatureCollection features)
    {
        if (features is not (IHttpRequestFeature request and IHttpResponseFeature response and IHttpResponseBodyFeature body))
        {
            return;
        }

        Add(features, PrefetchRanges.Http1Connection);
        if (owner.HasOwnTransport && reader.Waiter is { } loop)
        {
            Add(loop, PrefetchRanges.RequestLoop);
        }

        Add(request.Headers, PrefetchRanges.RequestHeaders);
        Add(response.Headers, PrefetchRanges.ResponseHeaders);
        Add(body.Stream, PrefetchRanges.ResponseBody);
    }

    private void Add(object part, PrefetchRange range) => connection.AddToPrefetch(part, range, CompletionKinds.Received);
}
