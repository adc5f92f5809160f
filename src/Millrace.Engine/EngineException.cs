using Millrace.Engine.Backends.Uring;
using Millrace.Interop;

namespace Millrace.Engine;

/// <summary>The engine cannot be started or cannot go on; the message names cause and remedy in one sentence.</summary>
public sealed class EngineException : Exception
{
    /// <summary>Makes an exception without a message.</summary>
    public EngineException()
    {
    }

    /// <summary>Makes an exception with its sentence.</summary>
    public EngineException(string message)
        : base(message)
    {
    }

    /// <summary>Makes an exception with its sentence and what lies behind it.</summary>
    public EngineException(string message, Exception innerException)
        : base(message, innerException)
    {
    }

    internal EngineException(UringRefusal refusal)
        : base(refusal.Message)
    {
        Refusal = refusal;
    }

    /// <summary>Whether it is that an address is in use, by this process or another.</summary>
    public bool IsAddressInUse => ErrorNumber == Errno.EADDRINUSE;

    /// <summary>The kernel's errno where an address cannot be had, else 0.</summary>
    internal int ErrorNumber { get; init; }

    /// <summary>The kernel's errno where a reactor lacks what a process has only so much of, else 0.</summary>
    internal int Shortage { get; init; }

    /// <summary>Why io_uring was refused, if that is what happened.</summary>
    internal UringRefusal? Refusal { get; }

    /// <summary>Whether the kernel had no memory for what was asked: less of it, or later, may do.</summary>
    internal bool IsShortOfMemory => Refusal is { ErrorNumber: Errno.ENOMEM, Obstacle: not UringObstacle.Memory };
}
