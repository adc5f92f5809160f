using System.Collections.Concurrent;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;

namespace Proxy;

/// <summary>
/// A client for each reactor, whose connections to the upstream belong to the reactor too: a request and its answer never change threads.
/// One client for all would do as well, and share its connections among the reactors.
/// </summary>
internal sealed class ReactorClients(IConnectionFactory connections) : IDisposable
{
    private readonly ConcurrentDictionary<int, HttpMessageInvoker> _clients = new();

    public HttpMessageInvoker Of(HttpContext context)
    {
        Reactor? reactor = context.GetReactor();
        return _clients.GetOrAdd(reactor?.Index ?? -1, _ => NewClient(reactor));
    }

    public void Dispose()
    {
        foreach (HttpMessageInvoker client in _clients.Values)
        {
            client.Dispose();
        }
    }

    private HttpMessageInvoker NewClient(Reactor? reactor) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        UseCookies = false,
        AllowAutoRedirect = false,
        ConnectCallback = async (connect, cancellation) =>
        {
            // The handler connects from the thread pool; the factory connects where it is called.
            if (reactor is not null)
            {
                await reactor.SwitchTo();
            }

            return (await connections.ConnectAsync(connect.DnsEndPoint, cancellation)).AsStream();
        },
    });
}
