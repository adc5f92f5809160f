using Millrace.Engine.Backends.IoUring;
using Millrace.Interop;

namespace Millrace.Engine;

/// <summary>The engine cannot start or cannot continue; the message names cause and remedy in one sentence.</summary>
public sealed class EngineException : Exception
{
    /// <summary>Creates an exception without a message.</summary>
    public EngineException()
    {
    }

    /// <summary>Creates an exception with a message.</summary>
    public EngineException(string message)
        : base(message)
    {
    }

    /// <summary>Creates an exception with a message and the exception that caused it.</summary>
    public EngineException(string message, Exception innerException)
        : base(message, innerException)
    {
    }

    internal EngineException(IoUringRefusal refusal)
        : base(refusal.Message)
    {
        Refusal = refusal;
    }

    /// <summary>Whether the cause is that an address is in use, by this process or another.</summary>
    public bool IsAddressInUse => ErrorNumber == Errno.EADDRINUSE;

    /// <summary>Whether an address is wrong (a path without a folder), as opposed to a refusal of the host.</summary>
    internal bool IsMistake { get; init; }

    /// <summary>The kernel's errno if an address is not available, otherwise 0.</summary>
    internal int ErrorNumber { get; init; }

    /// <summary>The kernel's errno if the reactor lacks a resource that the process has a limit for, otherwise 0.</summary>
    internal int Shortage { get; init; }

    internal IoUringRefusal? Refusal { get; }

    /// <summary>Whether the kernel had no memory for the rings: smaller ones, a later attempt, or epoll may succeed.</summary>
    internal bool IsShortOfMemory => Refusal is { ErrorNumber: Errno.ENOMEM, Kind: not IoUringRefusalKind.Option };
}
