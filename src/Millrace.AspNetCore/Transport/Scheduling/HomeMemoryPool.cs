using System.Buffers;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A reactor's pool in front of Kestrel's: what its thread returned last it lends first, while it is in the cache, without a lock.
/// Kestrel's lends what was returned longest ago, as a queue of all threads must. Any thread; others than the reactor's go straight to
/// Kestrel's.
/// </summary>
/// <param name="reactor">Whose thread it is for.</param>
/// <param name="pool">Kestrel's, of this reactor only; disposed with this one, on the reactor's thread or once it has ended.</param>
internal sealed class HomeMemoryPool(Reactor reactor, MemoryPool<byte> pool) : MemoryPool<byte>
{
    /// <summary>4 MiB of blocks of 4 KiB: what a turn in which a thousand connections answer has in use at once.</summary>
    private const int BlocksKept = 1024;

    private readonly Stack<Block> _kept = new();
    private bool _isDisposed;

    public override int MaxBufferSize => pool.MaxBufferSize;

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
    {
        if (!reactor.IsHome || minBufferSize > pool.MaxBufferSize)
        {
            return pool.Rent(minBufferSize);
        }

        // Kestrel's blocks are all of one size; another pool's need not be.
        if (!_kept.TryPeek(out Block? block) || block.Memory.Length < minBufferSize)
        {
            block = new Block(this, pool.Rent(minBufferSize));
        }
        else
        {
            _ = _kept.Pop();
        }

        block.IsLent = true;
        return block;
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _isDisposed = true;
            while (_kept.TryPop(out Block? block))
            {
                block.Owner.Dispose();
            }

            pool.Dispose();
        }
    }

    private void TakeBack(Block block)
    {
        if (reactor.IsHome && _kept.Count < BlocksKept && !_isDisposed)
        {
            _kept.Push(block);
        }
        else
        {
            block.Owner.Dispose();
        }
    }

    private sealed class Block(HomeMemoryPool home, IMemoryOwner<byte> owner) : IMemoryOwner<byte>
    {
        public IMemoryOwner<byte> Owner => owner;

        public bool IsLent { get; set; }

        public Memory<byte> Memory { get; } = owner.Memory;

        /// <summary>A second time does nothing: it may be somebody else's by then.</summary>
        public void Dispose()
        {
            if (IsLent)
            {
                IsLent = false;
                home.TakeBack(this);
            }
        }
    }
}
