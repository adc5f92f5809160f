namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Decides where a connection's application resumes: after it has left, none of its awaits returns it to the reactor. Any thread.
/// </summary>
internal interface IReactorAffinity
{
    /// <summary>From now on the application's awaits resume on the thread pool.</summary>
    void Leave();

    /// <summary>The application's next read resumes on the reactor.</summary>
    void Return();
}
