using Microsoft.AspNetCore.Http;
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

    /// <summary>The task of an async method that goes on whenever the connection does is the object that holds its variables.</summary>
    private TTask Foreseen<TTask>(TTask loop, Extent extent, Occasion occasion)
        where TTask : Task
    {
        _connection.AddToFootprint(loop, extent, occasion);
        return loop;
    }

    /// <summary>
    /// With HTTP/1.1 one set of objects serves all requests of a connection, and is to be had with the first. Reactor thread; with
    /// HTTP/2 there is no request on it.
    /// </summary>
    private void ForeseeRequests(HttpContext context)
    {
        // An application may go on when the connection has ended, and the engine's is another's.
        if (_serving.IsCompleted)
        {
            return;
        }

        Add(context.Features, Http1Connection);
        if (_input?.Waiter is { } loop)
        {
            Add(loop, RequestLoop);
        }

        // One of the application's own making is made anew for each request, and has what it likes.
        if (context is DefaultHttpContext)
        {
            Add(context, Context);
            Add(context.Request.Headers, RequestHeaders);
            Add(context.Response.Headers, ResponseHeaders);
            Add(context.Response.Body, ResponseBody);
        }

        void Add(object part, Extent extent) => _connection.AddToFootprint(part, extent, Occasion.Received);
    }
}
