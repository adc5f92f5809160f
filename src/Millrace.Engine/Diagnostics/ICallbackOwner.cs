namespace Millrace.Engine.Diagnostics;

/// <summary>
/// The owner of the code that a reactor runs, as far as it is known. Any thread; called while the reactor is blocked, or just was.
/// </summary>
internal interface ICallbackOwner
{
    /// <summary>How sure it is that it waits for what only its own reactor can bring: a deadlock.</summary>
    OwnerWait Wait { get; }

    /// <summary>
    /// It stalls its reactor from now on. True when its current code is not known to have run before: its first call includes compilation,
    /// which takes long once.
    /// </summary>
    bool BeginStall();

    /// <summary>
    /// It was seen to block its reactor within one callback, its thread neither running nor runnable.
    /// </summary>
    /// <param name="callback">The reactor's heartbeat count, which identifies the callback.</param>
    /// <param name="blockedMs">Since the last check.</param>
    void NoteBlocked(long callback, long blockedMs);

    string Describe();

    /// <summary>Ends those waits for the reactor that can end without an error.</summary>
    void Relieve();

    /// <summary>Ends its wait with an exception that names cause and remedy.</summary>
    void Fail(long stalledMs);
}

/// <summary>How sure it is that a callback owner waits for what only its own reactor can bring.</summary>
internal enum OwnerWait
{
    None,

    /// <summary>A wait began in an earlier callback and may belong to other code: one part reads on while another works.</summary>
    Possible,

    /// <summary>The wait began in the callback that blocks the reactor, and is taken for the cause.</summary>
    Certain,
}
