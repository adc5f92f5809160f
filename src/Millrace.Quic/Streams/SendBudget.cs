namespace Millrace.Quic.Streams;

/// <summary>
/// Limits the blocks that the sending streams of one connection hold together. A stream's first block is always allowed, so that each can
/// make progress: the limit may be exceeded by one block for each stream. One thread.
/// </summary>
internal sealed class SendBudget(long bytesMax)
{
    private readonly long _blocksMax = Math.Max(1, bytesMax / BlockPool.BlockBytes);
    private long _used;
    private bool _isShort;

    public long UsedBytes => _used * BlockPool.BlockBytes;

    /// <summary>Blocks that may be taken now.</summary>
    public long FreeBlocks => Math.Max(0, _blocksMax - _used);

    /// <summary>
    /// Whether so much is free that a writer that waited may go on: an eighth. If not, <see cref="TakeRelief"/> says when.
    /// </summary>
    public bool TryFindAmpleRoom()
    {
        bool isAmple = FreeBlocks > _blocksMax / 8;
        _isShort |= !isAmple;
        return isAmple;
    }

    public bool TryTake(bool isFirst)
    {
        bool isRoom = _used < _blocksMax || isFirst;
        _used += isRoom ? 1 : 0;
        return isRoom;
    }

    public void Return(int blocks) => _used -= blocks;

    /// <summary>True once, when there is ample room again after a writer found too little.</summary>
    public bool TakeRelief()
    {
        bool isRelieved = _isShort && FreeBlocks > _blocksMax / 8;
        _isShort &= !isRelieved;
        return isRelieved;
    }
}
