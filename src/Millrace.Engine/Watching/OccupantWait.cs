namespace Millrace.Engine.Watching;

/// <summary>How sure it is that who occupies a reactor is blocked for what only that reactor can bring.</summary>
internal enum OccupantWait
{
    None,

    /// <summary>A wait has begun earlier, and somebody else may be at it: one reads on while another works.</summary>
    Perhaps,

    /// <summary>It has begun in the very callback that holds the reactor up, and is taken for what blocks it.</summary>
    Surely,
}
