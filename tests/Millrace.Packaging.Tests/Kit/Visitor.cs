using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.Packaging.Tests;

/// <summary>How a visitor asks.</summary>
/// <param name="Name">For complaints.</param>
/// <param name="Version">Of HTTP.</param>
/// <param name="KeepsConnection">Whether one connection is for many requests.</param>
/// <param name="Scheme">Over HTTP it is to be sent to HTTPS.</param>
internal sealed record VisitorKind(string Name, Version Version, bool KeepsConnection, string Scheme = "https");

/// <summary>
/// A client that asks for one file after the other until it is told to stop, each by a number of its own, and checks every byte. What goes
/// wrong ends it. It asks again only as any client may: what HttpClient does where a kept connection was closed before an answer began, and
/// where it was itself so late that a server that ends had no reason to wait for it (half a second).
/// </summary>
internal sealed class Visitor : IDisposable
{
    private static readonly TimeSpan LateAfter = TimeSpan.FromMilliseconds(250);

    private readonly VisitorKind _kind;
    private readonly NetworkNamespace _network;
    private readonly HttpClient _client;
    private readonly ConcurrentQueue<string> _serials = new();
    private readonly List<int> _answered = [];
    private int _count;
    private long _connectedAt;
    private long _securedAt;

    public Visitor(VisitorKind kind, NetworkNamespace network)
    {
        _kind = kind;
        _network = network;
        var handler = new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            ConnectCallback = ConnectAsync,
            PlaintextStreamFilter = (context, _) =>
            {
                _securedAt = Stopwatch.GetTimestamp();
                return new ValueTask<Stream>(context.PlaintextStream);
            },
        };
        handler.SslOptions.RemoteCertificateValidationCallback = (_, certificate, _, _) => Note(certificate);
        _client = new HttpClient(handler) { Timeout = TimeSpan.FromMinutes(2) };
    }

    /// <summary>How many requests were answered. Any thread.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Those that were answered, once it has ended.</summary>
    public IReadOnlyCollection<int> Answered => _answered;

    /// <summary>The certificates it was shown, in their order, each once for as long as it was the same. Any thread.</summary>
    public IReadOnlyList<string> Serials
    {
        get
        {
            List<string> serials = [];
            foreach (string serial in _serials.Where(serial => serials.LastOrDefault() != serial))
            {
                serials.Add(serial);
            }

            return serials;
        }
    }

    /// <param name="files">Contents by path.</param>
    /// <param name="nextNumber">A number that no visitor has had.</param>
    /// <param name="stop">Says when it is enough.</param>
    public async Task VisitAsync(IReadOnlyList<(string Path, byte[] Content)> files, Func<int> nextNumber, CancellationToken stop)
    {
        for (int iteration = 0; !stop.IsCancellationRequested; iteration++)
        {
            (string path, byte[] content) = files[iteration % files.Count];
            int number = nextNumber();
            await AskAsync(new Uri($"{_kind.Scheme}://127.0.0.1{path}?visit={number}"), content);
            _answered.Add(number);
            Interlocked.Increment(ref _count);

            // A pause, for others have the machine too: it is not the server's limit that is looked for.
            await Task.Delay(TimeSpan.FromMilliseconds(3), CancellationToken.None);
        }
    }

    public void Dispose() => _client.Dispose();

    private async Task AskAsync(Uri target, byte[] content)
    {
        while (true)
        {
            long began = Stopwatch.GetTimestamp();
            try
            {
                using var request = new HttpRequestMessage(HttpMethod.Get, target)
                {
                    Version = _kind.Version,
                    VersionPolicy = HttpVersionPolicy.RequestVersionExact,
                };
                request.Headers.ConnectionClose = !_kind.KeepsConnection && _kind.Version.Major == 1;
                using HttpResponseMessage response = await _client.SendAsync(request);
                await CheckAsync(response, content);
                return;
            }
            catch (HttpRequestException reset) when (reset.StatusCode is null && WasLate(began))
            {
                continue;
            }
            catch (Exception failure)
            {
                throw new InvalidOperationException($"{_kind.Name}, {target}, after {Stopwatch.GetElapsedTime(began)}: {failure}", failure);
            }
        }
    }

    /// <summary>It is made for one test, and taken whoever signed it.</summary>
    private bool Note(X509Certificate? certificate)
    {
        if (certificate is X509Certificate2 shown)
        {
            _serials.Enqueue(shown.SerialNumber);
        }

        return certificate is not null;
    }

    private async Task CheckAsync(HttpResponseMessage response, byte[] content)
    {
        if (_kind.Scheme == "http")
        {
            Assert.Equal(HttpStatusCode.PermanentRedirect, response.StatusCode);
            Assert.Equal("https", response.Headers.Location!.Scheme);
            return;
        }

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.True((await response.Content.ReadAsByteArrayAsync()).AsSpan().SequenceEqual(content), "The bytes are others.");
    }

    /// <summary>Whether it has connected since, and was slow to say what it wants.</summary>
    private bool WasLate(long began)
    {
        long askedAt = _securedAt >= _connectedAt ? _securedAt : Stopwatch.GetTimestamp();
        return _connectedAt >= began && Stopwatch.GetElapsedTime(_connectedAt, askedAt) > LateAfter;
    }

    private async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken cancellation)
    {
        Socket socket = _network.OpenSocket();
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, context.DnsEndPoint.Port, cancellation);
            _connectedAt = Stopwatch.GetTimestamp();
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
