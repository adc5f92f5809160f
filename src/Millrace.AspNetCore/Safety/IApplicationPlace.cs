namespace Millrace.AspNetCore.Safety;

/// <summary>Where the application of a connection goes on: as long as it has left, none of its waits brings it back. Any thread.</summary>
internal interface IApplicationPlace
{
    /// <summary>What it waits for from here on ends on the thread pool.</summary>
    void Leave();

    /// <summary>Its next read comes home.</summary>
    void Return();
}
