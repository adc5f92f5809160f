using Millrace.Interop;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>The receive buffers, last returned first used. Each is either free or lent to the reactor.</summary>
internal sealed class FreeBuffers(int count, int bufferBytes) : ReceiveSlab(count, bufferBytes, Refusal)
{
    private readonly Stack<ushort> _free = new(Enumerable.Range(0, count).Select(static id => (ushort)id));

    public bool AreAll => _free.Count == Count;

    public bool TryTake(out ushort id)
    {
        if (!_free.TryPop(out id))
        {
            return false;
        }

        NoteLent(id, true);
        return true;
    }

    public void Return(ushort id)
    {
        NoteLent(id, false);
        _free.Push(id);
    }

    private static EngineException Refusal(int result) =>
        new($"There is no memory for the receive buffers ({Errno.Describe(result)}): configure fewer or smaller ones.");
}
