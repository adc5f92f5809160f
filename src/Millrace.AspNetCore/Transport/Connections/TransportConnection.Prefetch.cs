using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>
/// The memory that its completions touch, registered for the reactor's prefetch (ADR 0009). A wrong size costs some cache lines.
/// </content>
internal sealed partial class TransportConnection
{
    /// <summary>This object and the objects created with it.</summary>
    private static readonly PrefetchRange Own = new(After: 416);
    private static readonly PrefetchRange ReceiveLoop = new(After: 120);
    private static readonly PrefetchRange SendLoop = new(After: 240);

    // Sizes of ASP.NET Core's objects on .NET 10.
    private static readonly PrefetchRange RequestLoop = new(After: 184);

    /// <summary>The connection's context, its timeouts, and the object that serves its requests.</summary>
    private static readonly PrefetchRange Http1Connection = new(After: 832, Before: 464);
    private static readonly PrefetchRange RequestHeaders = new(After: 480);

    /// <summary>Includes the object that writes the response.</summary>
    private static readonly PrefetchRange ResponseHeaders = new(After: 872);

    /// <summary>The host's own context, the HTTP context, the request and the response.</summary>
    private static readonly PrefetchRange Context = new(After: 288, Before: 72);

    /// <summary>Includes the other streams and pipes of bodies.</summary>
    private static readonly PrefetchRange ResponseBody = new(After: 32, Before: 336);

    /// <summary>Hash of the first request's context, to which no reference is kept; 0 before the first request.</summary>
    private int _firstContextHash;
    private bool _areRequestsPrefetched;

    /// <summary>
    /// Registers an async method's task, which is the object that holds the method's variables and resumes whenever the connection does.
    /// </summary>
    private TTask Prefetched<TTask>(TTask loop, PrefetchRange range, CompletionKinds kinds)
        where TTask : Task
    {
        _connection.AddToPrefetch(loop, range, kinds);
        return loop;
    }

    /// <summary>
    /// Registers the set of objects that serves all HTTP/1.1 requests of the connection; they are available with the first request. Reactor
    /// thread; an HTTP/2 request never runs on it.
    /// </summary>
    private void PrefetchRequests(HttpContext context)
    {
        // An application may continue after the connection has ended, when the engine's connection belongs to another peer.
        if (_serving.IsCompleted)
        {
            return;
        }

        int hash = RuntimeHelpers.GetHashCode(context);
        if (_firstContextHash == 0)
        {
            // A continuation of this connection may belong to another connection's request.
            if (context.Features.Get<IReactorFeature>() == this)
            {
                PrefetchParts(context.Features);
                _firstContextHash = hash;
            }

            return;
        }

        // Registered only if one context serves all requests: Kestrel creates a new one for each where the application may keep it
        // (IHttpContextAccessor).
        if (hash == _firstContextHash)
        {
            PrefetchOnReceive(context, Context);
        }

        _areRequestsPrefetched = true;
    }

    /// <summary>Registers Kestrel's own objects, even if the application has replaced features.</summary>
    private void PrefetchParts(IFeatureCollection features)
    {
        if (features is not (IHttpRequestFeature request and IHttpResponseFeature response and IHttpResponseBodyFeature body))
        {
            return;
        }

        PrefetchOnReceive(features, Http1Connection);
        if (IsOwn(Transport) && _input?.Waiter is { } loop)
        {
            PrefetchOnReceive(loop, RequestLoop);
        }

        PrefetchOnReceive(request.Headers, RequestHeaders);
        PrefetchOnReceive(response.Headers, ResponseHeaders);
        PrefetchOnReceive(body.Stream, ResponseBody);
    }

    private void PrefetchOnReceive(object part, PrefetchRange range) => _connection.AddToPrefetch(part, range, CompletionKinds.Received);
}
