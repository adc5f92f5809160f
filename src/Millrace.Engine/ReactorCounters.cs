namespace Millrace.Engine;

/// <summary>What a reactor counts. Written by its thread only; read from others without a lock, so a reading may lag.</summary>
internal sealed class ReactorCounters
{
    public long Accepted;
    public long Shed;
    public long Turns;
    public long Completions;
    public long ReceivesParked;
    public long Posts;
}
