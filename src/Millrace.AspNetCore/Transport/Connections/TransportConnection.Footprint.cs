using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>What its completions touch, named for the reactor's foresight (ADR 0009). A wrong size costs some lines of cache.</content>
internal sealed partial class TransportConnection
{
    /// <summary>This object, and what its fields are born with.</summary>
    private static readonly Extent Own = new(Behind: 408);
    private static readonly Extent ReceiveLoop = new(Behind: 120);
    private static readonly Extent SendLoop = new(Behind: 240);

    // ASP.NET Core's, on .NET 10.
    private static readonly Extent RequestLoop = new(Behind: 184);

    /// <summary>The connection's context and its timeouts, and what serves its requests.</summary>
    private static readonly Extent Http1Connection = new(Behind: 832, Before: 464);
    private static readonly Extent RequestHeaders = new(Behind: 480);

    /// <summary>And what writes the answer.</summary>
    private static readonly Extent ResponseHeaders = new(Behind: 872);

    /// <summary>The host's own context, this, the request and the response.</summary>
    private static readonly Extent Context = new(Behind: 288, Before: 72);

    /// <summary>The other streams and pipes of bodies, and this.</summary>
    private static readonly Extent ResponseBody = new(Behind: 32, Before: 336);

    /// <summary>Of the context of the first request, which is not held for it; 0 before that.</summary>
    private int _firstContextHash;
    private bool _areRequestsForeseen;

    /// <summary>The task of an async method that goes on whenever the connection does is the object that holds its variables.</summary>
    private TTask Foreseen<TTask>(TTask loop, Extent extent, Occasion occasion)
        where TTask : Task
    {
        _connection.AddToFootprint(loop, extent, occasion);
        return loop;
    }

    /// <summary>
    /// What serves a connection's requests with HTTP/1.1 is one set of objects, and is to be had with the first. Reactor thread; with
    /// HTTP/2 there is no request on it.
    /// </summary>
    private void ForeseeRequests(HttpContext context)
    {
        // An application may go on when the connection has ended, and the engine's is another's.
        if (_serving.IsCompleted)
        {
            return;
        }

        int hash = RuntimeHelpers.GetHashCode(context);
        if (_firstContextHash == 0)
        {
            // What goes on because of this connection may be another's request.
            if (context.Features.Get<IReactorFeature>() == this)
            {
                ForeseeParts(context.Features);
                _firstContextHash = hash;
            }

            return;
        }

        // Held only if it serves all: the application may have each made anew, and Kestrel does where somebody may keep it
        // (IHttpContextAccessor).
        if (hash == _firstContextHash)
        {
            ForeseeReceived(context, Context);
        }

        _areRequestsForeseen = true;
    }

    /// <summary>Kestrel's own, whatever the application has put in the place of its features.</summary>
    private void ForeseeParts(IFeatureCollection features)
    {
        if (features is not (IHttpRequestFeature request and IHttpResponseFeature response and IHttpResponseBodyFeature body))
        {
            return;
        }

        ForeseeReceived(features, Http1Connection);
        if (IsOwn(Transport) && _input?.Waiter is { } loop)
        {
            ForeseeReceived(loop, RequestLoop);
        }

        ForeseeReceived(request.Headers, RequestHeaders);
        ForeseeReceived(response.Headers, ResponseHeaders);
        ForeseeReceived(body.Stream, ResponseBody);
    }

    private void ForeseeReceived(object part, Extent extent) => _connection.AddToFootprint(part, extent, Occasion.Received);
}
