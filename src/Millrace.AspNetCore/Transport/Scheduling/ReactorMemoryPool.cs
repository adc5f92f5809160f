using System.Buffers;
using Millrace.Engine;
using Millrace.Engine.Buffers;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A reactor's cache in front of Kestrel's pool: it rents out the most recently returned block first, while that is in the processor's
/// cache, without a lock. Kestrel's pool, a queue shared by all threads, rents out the least recently returned. Unused blocks go back to
/// Kestrel's pool, which trims itself. Any thread; threads other than the reactor's use Kestrel's pool directly.
/// </summary>
/// <param name="reactor">The reactor.</param>
/// <param name="inner">
/// Kestrel's pool of this reactor; disposed with this one, on the reactor's thread or after the reactor has ended.
/// </param>
internal sealed class ReactorMemoryPool(Reactor reactor, MemoryPool<byte> inner) : MemoryPool<byte>, ITrimmable
{
    /// <summary>4 MiB in blocks of 4 KiB: what an iteration in which a thousand connections respond uses at once.</summary>
    private const int BlocksKept = 1024;

    private readonly FreeStack<Block> _kept = new();
    private bool _isDisposed;
    private bool _isTrimmed;

    public override int MaxBufferSize => inner.MaxBufferSize;

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1)
    {
        if (!reactor.IsReactorThread || minBufferSize > inner.MaxBufferSize)
        {
            return inner.Rent(minBufferSize);
        }

        // Kestrel's blocks have one size; another pool's need not.
        if (!_kept.TryPeek(out Block? block) || block.Memory.Length < minBufferSize)
        {
            block = new Block(this, inner.Rent(minBufferSize));
        }
        else
        {
            _ = _kept.TryPop(out _);
        }

        block.IsRented = true;
        return block;
    }

    public void Trim(bool all)
    {
        foreach (Block block in _kept.Trim(all))
        {
            block.Owner.Dispose();
        }
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _isDisposed = true;
            if (_isTrimmed)
            {
                reactor.MemoryTrimmer.Remove(this);
            }

            Trim(all: true);
            inner.Dispose();
        }
    }

    private void Return(Block block)
    {
        if (reactor.IsReactorThread && _kept.Count < BlocksKept && !_isDisposed)
        {
            _kept.Push(block);
            if (!_isTrimmed)
            {
                _isTrimmed = true;
                reactor.MemoryTrimmer.Add(this);
            }

            reactor.MemoryTrimmer.Arm(reactor.NowMs);
        }
        else
        {
            block.Owner.Dispose();
        }
    }

    private sealed class Block(ReactorMemoryPool pool, IMemoryOwner<byte> owner) : IMemoryOwner<byte>
    {
        public IMemoryOwner<byte> Owner => owner;

        public bool IsRented { get; set; }

        public Memory<byte> Memory { get; } = owner.Memory;

        /// <summary>A second call does nothing: the block may be rented again by then.</summary>
        public void Dispose()
        {
            if (IsRented)
            {
                IsRented = false;
                pool.Return(this);
            }
        }
    }
}
