using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;
using Millrace.Engine.Tests.Stages;

namespace Millrace.Engine.Tests.OneShot;

[Trait("Backend", "io_uring")]
public class OneShotEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotStageTests : StageTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}

[Trait("Backend", "io_uring")]
public class OneShotConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.OneShot();
}
