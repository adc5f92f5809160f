namespace Millrace.Engine.Watching;

/// <summary>
/// Whose code a reactor runs, as far as somebody has told it. Any thread; the reactor is held up meanwhile, or was a moment ago.
/// </summary>
internal interface IOccupant
{
    /// <summary>How sure it is that it waits for what only the reactor it occupies can bring: it would wait for ever.</summary>
    OccupantWait Wait { get; }

    /// <summary>For who wonders what holds the reactor up.</summary>
    string Describe();

    /// <summary>Ends those waits for the reactor that can end well.</summary>
    void Relieve();

    /// <summary>Ends what it waits for, with an exception that names cause and remedy.</summary>
    void Fail(long heldUpMs);
}
