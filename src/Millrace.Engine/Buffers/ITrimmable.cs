namespace Millrace.Engine.Buffers;

/// <summary>Keeps free memory for reuse and can give it back. Reactor thread.</summary>
internal interface ITrimmable
{
    /// <summary>Gives back what was not needed since the last call, or all that is not in use.</summary>
    void Trim(bool all);
}
