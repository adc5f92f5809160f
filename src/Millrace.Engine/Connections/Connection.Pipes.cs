using System.IO.Pipelines;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Pipes;

namespace Millrace.Engine;

/// <content>The connection seen as pipes, and what these need of it.</content>
public sealed partial class Connection
{
    /// <summary>The input buffer itself, for whoever shows its memory.</summary>
    internal ref InputBuffer InputMemory => ref _input;

    internal bool HasUnseenInput => _input.Count > _seen;

    internal ReceiveEnd InputEnd => _inputEnd;

    /// <summary>
    /// The connection as <see cref="PipeReader"/> and <see cref="PipeWriter"/>, for handlers written for pipes. Use either these or
    /// the raw members for a direction, not both at once; <see cref="ReadFileAsync(int, long, int)"/> writes behind what was
    /// written to the pipe. The pipes live on the reactor's thread like the rest; completing them ends nothing by itself: the
    /// connection ends when the handler returns. From then on they refuse to be used, whoever is served next. They
    /// do not tell of a stop, see <see cref="ReactorGroup.StopAsync"/>.
    /// </summary>
    public IDuplexPipe AsDuplexPipe()
    {
        Reactor.AssertHome();
        AssertTenant();
        return new ConnectionPipe(this);
    }

    /// <summary>Moves borrowed input to memory of our own: a pipe's reader may keep looking at it across awaits.</summary>
    internal void OwnInput() => _input.Settle(Pools);

    /// <summary>So much of the input was seen; the next wait is for more.</summary>
    internal int SeenBytes => _seen;

    /// <summary>Marks all of the input as seen.</summary>
    internal void MarkSeen() => _seen = _input.Count;

    /// <summary>Takes back what a wait has marked whose result nobody was shown.</summary>
    internal void MarkSeen(int bytes) => _seen = bytes;

    /// <summary>Ends the holding of input shown to a pipe's reader: so much of it is done with, so much was looked at.</summary>
    internal void AdvanceInput(int consumed, int examined)
    {
        Reactor.AssertHome();
        _input.Release(Pools);
        _seen = examined;
        Consume(consumed);
    }

    /// <summary>Ends a pending wait from outside, as PipeReader.CancelPendingRead wants it.</summary>
    internal void TryEndRead(ReadOutcome outcome)
    {
        if (_read.IsPending)
        {
            _read.Complete(outcome);
        }
    }
}
