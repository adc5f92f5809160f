using Millrace.Storm.Judging;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Clients;

/// <summary>Somebody who uses the site, on a thread of its own. Whatever goes wrong on its connection is a fault.</summary>
internal abstract class Client(int port, Verifier judge, Tally tally, int pauseMs, int seed) : IDisposable
{
    private static readonly string?[] Codings = [null, null, "gzip", "br", "zstd", "gzip, br", "zstd, gzip, br", "br;q=0.1, gzip;q=0.9", "identity", "*"];

    private Peer? _peer;

    protected Random Chance { get; } = new(seed);

    protected int Port => port;

    public void Run(CancellationToken over)
    {
        while (!over.IsCancellationRequested)
        {
            try
            {
                Step();
                over.WaitHandle.WaitOne(pauseMs);
            }
            catch (Exception error) when (error is IOException or System.Net.Sockets.SocketException or InvalidDataException)
            {
                tally.Fault($"{GetType().Name}: {error.Message}");
                Leave();
            }
        }
    }

    public void Dispose() => Leave();

    protected abstract void Step();

    /// <summary>The connection, a new one where the server ended the last.</summary>
    protected Peer Connect(int? receiveBufferBytes = null)
    {
        if (_peer is null or { IsEnded: true })
        {
            Leave();
            _peer = new Peer(port, receiveBufferBytes);
        }

        return _peer;
    }

    protected void Leave()
    {
        _peer?.Dispose();
        _peer = null;
    }

    protected Response Ask(Question question) => Ask(question, out _);

    /// <param name="question">What to ask.</param>
    /// <param name="content">What one has who keeps the answer.</param>
    protected Response Ask(Question question, out Content? content)
    {
        Response response = Connect().Ask(question);
        content = judge.Check(question, response);
        return response;
    }

    protected void Check(Question question, Response response, ReadOnlySpan<Question> behind = default) =>
        judge.Check(question, response, behind);

    protected string PickPath() => Chance.GetItems(StandingFile.All, 1)[0].Path;

    protected string? PickCoding() => Chance.GetItems(Codings, 1)[0];
}
