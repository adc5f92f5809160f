using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.HttpServer.Bodies;
using Millrace.HttpServer.Sessions;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Archives;

/// <summary>
/// An archive of a directory as a response body. It reads files on the reactor's ring and has them compressed on the thread pool, a piece
/// after the client has taken the one before. It keeps the snapshot until it ends. If a file cannot be archived whole, it fails. Reactor
/// thread only.
/// </summary>
internal sealed class ArchiveStream : BodyStream
{
    private readonly Reactor _reactor;
    private readonly CatalogSnapshot _snapshot;
    private readonly ArchiveProducer _producer;
    private readonly SessionEvent _taken = new();

    /// <summary>The output that is not taken yet; empty while the producer runs.</summary>
    private ReadOnlyMemory<byte> _available;
    private BodyStreamState _state;
    private bool _isReleased;

    private ArchiveStream(Reactor reactor, CatalogSnapshot snapshot, ArchiveProducer producer)
    {
        _reactor = reactor;
        _snapshot = snapshot;
        _producer = producer;
    }

    public override ReadOnlySpan<byte> Available => _available.Span;

    public override BodyStreamState State => _state;

    public override long RemainingBytes => -1;

    /// <summary>Begins a planned archive. Null if too many are being sent.</summary>
    /// <param name="reactor">The reactor of the session.</param>
    /// <param name="archive">The archive.</param>
    /// <param name="snapshot">The snapshot that it was planned for; leased by the caller for the time of this call.</param>
    public static ArchiveStream? TryBegin(Reactor reactor, DirectoryArchive archive, CatalogSnapshot snapshot)
    {
        if (!snapshot.TryAcquire())
        {
            return null;
        }

        ArchiveStream? stream = null;
        try
        {
            stream = archive.TryBegin(snapshot) is { } producer ? new ArchiveStream(reactor, snapshot, producer) : null;
        }
        finally
        {
            if (stream is null)
            {
                snapshot.Release();
            }
        }

        _ = stream?.RunAsync();
        return stream;
    }

    public override void Consume(int count)
    {
        _available = _available[count..];
        if (_available.IsEmpty)
        {
            _taken.Set();
        }
    }

    public override void Release()
    {
        _isReleased = true;
        Progressed = null;
        _available = default;
        _taken.Set();
    }

    private async Task RunAsync()
    {
        try
        {
            try
            {
                await ProduceAsync();
            }
#pragma warning disable CA1031 // Whatever it is (no memory, a logger that throws), the client must learn that the archive is not whole.
            catch (Exception error) when (error is not ObjectDisposedException)
#pragma warning restore CA1031
            {
                await _reactor.SwitchTo();
            }

            if (_state != BodyStreamState.Complete)
            {
                _state = BodyStreamState.Failed;
                Progressed?.Invoke();
            }
        }
        catch (ObjectDisposedException)
        {
            // The reactor has ended, and all of its connections.
        }
        finally
        {
            _producer.Dispose();
            _snapshot.Release();
        }
    }

    private async ValueTask ProduceAsync()
    {
        ArchiveStep step;
        do
        {
            step = await _producer.Archives.RunAsync(_producer);
            await _reactor.SwitchTo();
            if (step == ArchiveStep.Finished)
            {
                _state = BodyStreamState.Complete;
            }

            await PassOutputAsync(step);
        }
        while (!_isReleased && step != ArchiveStep.Finished && await TryContinueAsync(step));
    }

    /// <summary>Offers the output, and waits until it is taken, unless it is the last.</summary>
    private async ValueTask PassOutputAsync(ArchiveStep step)
    {
        if (_isReleased)
        {
            return;
        }

        _available = _producer.Output;
        bool isLast = step == ArchiveStep.Finished;
        if (!_available.IsEmpty || isLast)
        {
            Progressed?.Invoke();
        }

        while (!_available.IsEmpty && !isLast)
        {
            await _taken.WaitAsync();
        }

        if (!isLast)
        {
            _producer.ClearOutput();
        }
    }

    /// <summary>Does what the producer needs. False if the archive must end.</summary>
    private async ValueTask<bool> TryContinueAsync(ArchiveStep step)
    {
        switch (step)
        {
            case ArchiveStep.TakeOutput:
                return true;
            case ArchiveStep.OpenFile:
                return _producer.TryOpenFile();
            case ArchiveStep.ReadFile:
                try
                {
                    return _producer.TryTakePiece(await ReadAsync(_producer.Input.Span));
                }
                catch (IOException)
                {
                    // The engine counts and logs it.
                    return _producer.TryTakePiece(-1);
                }
                catch (OperationCanceledException)
                {
                    // The reactor stops.
                    return false;
                }

            default:
                return false;
        }
    }

    /// <summary>Reads a piece into the producer's memory, which is pinned.</summary>
    private unsafe ValueTask<int> ReadAsync(Span<byte> input) =>
        _reactor.ReadDescriptorAsync(_producer.Descriptor, (byte*)Unsafe.AsPointer(ref input[0]), input.Length, _producer.Offset);
}
